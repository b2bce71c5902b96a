#!/usr/bin/env python3
"""A float network as tools for dynamic quantization write it:  quantize_dynamically.py FLOAT.onnx OUT.onnx

Every Conv, Gemm and MatMul with constant weights becomes DynamicQuantizeLinear, ConvInteger or MatMulInteger, Cast, Mul by the product
of both scales, and Add of the bias. Weights are u8 with one scale and one zero point, as ONNX Runtime's quantize_dynamic makes them for
convolutions. Batch normalization behind a convolution is put into its weights first, as exporters do.
"""
import sys

import numpy
import onnx
from onnx import helper, numpy_helper


class Rewriter:
    def __init__(self, model):
        self.graph = model.graph
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self.nodes = []
        self.bytes_of = {}  # value -> names of what DynamicQuantizeLinear made of it

    def add(self, op, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=f"{op}_{len(self.nodes)}", **attributes))
        return outputs[0]

    def constant(self, name, value):
        self.constants[name] = numpy.asarray(value)
        return name

    def quantized(self, value):
        if value not in self.bytes_of:
            self.bytes_of[value] = [value + suffix for suffix in (".bytes", ".scale", ".zero")]
            self.add("DynamicQuantizeLinear", [value], self.bytes_of[value])
        return self.bytes_of[value]

    def quantized_weights(self, name, weights):
        low, high = min(weights.min(), 0), max(weights.max(), 0)
        scale = numpy.float32((high - low) / 255 or 1)
        zero = numpy.uint8(round(-low / scale))
        steps = numpy.clip(numpy.rint(weights / scale) + zero, 0, 255).astype(numpy.uint8)
        return [self.constant(name + suffix, value) for suffix, value in ((".bytes", steps), (".scale", scale), (".zero", zero))]

    def product(self, op, node, weights, bias, **attributes):
        """`node` on bytes: its name stays that of its result."""
        result = node.output[0]
        x, x_scale, x_zero = self.quantized(node.input[0])
        w, w_scale, w_zero = self.quantized_weights(result + ".weights", weights)
        sums = self.add(op, [x, w, x_zero, w_zero], [result + ".sums"], **attributes)
        floats = self.add("Cast", [sums], [result + ".floats"], to=onnx.TensorProto.FLOAT)
        scale = self.add("Mul", [x_scale, w_scale], [result + ".both_scales"])
        scaled = self.add("Mul", [floats, scale], [result if bias is None else result + ".scaled"])
        if bias is not None:
            self.add("Add", [scaled, self.constant(result + ".bias", bias)], [result])

    def convolution(self, node, norm):
        weights = self.constants[node.input[1]]
        bias = self.constants[node.input[2]] if len(node.input) > 2 else numpy.zeros(len(weights), numpy.float32)
        if norm is not None:
            scale, shift, mean, variance = (self.constants[name] for name in norm.input[1:5])
            epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
            factor = scale / numpy.sqrt(variance + epsilon)
            weights, bias = weights * factor[:, None, None, None], (bias - mean) * factor + shift
            node.output[0] = norm.output[0]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.product("ConvInteger", node, weights, bias.astype(numpy.float32)[None, :, None, None], **attributes)

    def is_weight_turned(self, gemm):
        """Whether a Gemm is x times transposed constant weights. Fails where it is more than a product with a bias."""
        attributes = {a.name: helper.get_attribute_value(a) for a in gemm.attribute}
        for name, wanted in (("alpha", 1), ("beta", 1), ("transA", 0)):
            found = attributes.get(name, wanted)
            assert found == wanted, f"Gemm '{gemm.name}': {name} is {found}; only {wanted} is quantized"
        for name in gemm.input[1:]:
            assert name in self.constants, f"Gemm '{gemm.name}': '{name}' is computed; weights and bias must be constants"
        return bool(attributes.get("transB", 0))

    def run(self):
        readers = {}
        for node in self.graph.node:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        done = []
        for node in self.graph.node:
            if any(node is other for other in done):
                continue
            if node.op_type == "Conv":
                after = readers.get(node.output[0], [])
                norm = after[0] if len(after) == 1 and after[0].op_type == "BatchNormalization" else None
                done.append(norm)
                self.convolution(node, norm)
            elif node.op_type == "Gemm":
                turned = self.is_weight_turned(node)
                weights = self.constants[node.input[1]]
                bias = self.constants[node.input[2]] if len(node.input) > 2 else None
                self.product("MatMulInteger", node, weights.T if turned else weights, bias)
            elif node.op_type == "MatMul" and node.input[1] in self.constants:
                self.product("MatMulInteger", node, self.constants[node.input[1]], None)
            else:
                self.nodes.append(node)
        used = {name for node in self.nodes for name in node.input}
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants.items() if name in used]
        return helper.make_graph(self.nodes, self.graph.name, self.graph.input, self.graph.output, constants)


def main():
    source, target = sys.argv[1:]
    model = onnx.load(source)
    graph = Rewriter(model).run()
    onnx.save(helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version), target)


main()
