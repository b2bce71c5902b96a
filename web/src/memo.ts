import { Component, type ComponentChild, type FunctionComponent, h } from "preact";

/** A component that is drawn again only when its properties are not the same. */
export function memo<P extends object>(
  draw: (props: P) => ComponentChild,
  same: (one: P, other: P) => boolean,
): FunctionComponent<P> {
  const Inner = draw as FunctionComponent<P>;
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !same(this.props as P, next);
    }
    override render(): ComponentChild {
      return h(Inner, this.props as never);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
