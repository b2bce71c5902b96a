#pragma once

#include <vector>

#include "mangrove/graph/operator.h"

/// The rows of the operator table, one function and one file per family; operator_table.cc puts them together.
namespace mangrove::rows {

std::vector<Operator> activations();     // activations.cc: Relu, LeakyRelu, PRelu, Clip, Sigmoid, Tanh ...
std::vector<Operator> arithmetic();      // arithmetic.cc: Add, Mul, Pow, Min, Sum ...; Exp, Log, Sqrt, Abs ...
std::vector<Operator> constants();       // constants.cc: Constant, ConstantOfShape, Shape
std::vector<Operator> convolutions();    // convolutions.cc: Conv, ConvTranspose
std::vector<Operator> indexing();        // indexing.cc: GatherElements, GatherND, ScatterElements, ScatterND, OneHot
std::vector<Operator> logic();           // logic.cc: Equal, Less, Greater, Not, And, Or, Where, Cast
std::vector<Operator> movement();        // movement.cc: Concat, Split, Slice, Pad, Transpose, Gather, Resize ...
std::vector<Operator> normalizations();  // normalizations.cc: BatchNormalization, LayerNormalization, LRN ...
std::vector<Operator> pools();           // pools.cc: MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool
std::vector<Operator> products();        // products.cc: Gemm, MatMul
std::vector<Operator> quantization();    // quantization.cc: QuantizeLinear, QLinearConv, MatMulInteger ...
std::vector<Operator> recurrent();       // recurrent.cc: LSTM, GRU, RNN
std::vector<Operator> reductions();      // reductions.cc: ReduceMean, ReduceSum, ReduceMax, ArgMax, TopK
std::vector<Operator> regularization();  // regularization.cc: Dropout, Identity
std::vector<Operator> shapes();          // shapes.cc: Reshape, Flatten, Squeeze, Unsqueeze, Expand
std::vector<Operator> softmaxes();       // softmaxes.cc: Softmax, LogSoftmax

}  // namespace mangrove::rows
