// Which elements lie within the window, or close to it.

const watchers = new WeakMap<Element, (isInView: boolean) => void>();
let observer: IntersectionObserver | null = null;

function watch(): IntersectionObserver {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) watchers.get(entry.target)?.(entry.isIntersecting);
    },
    { rootMargin: "300px" },
  );
  return observer;
}

/** Calls `listener` now and whenever the element comes into view or leaves it. Returns a function that ends it. */
export function onView(element: Element, listener: (isInView: boolean) => void): () => void {
  watchers.set(element, listener);
  watch().observe(element);
  return () => {
    watchers.delete(element);
    watch().unobserve(element);
  };
}
