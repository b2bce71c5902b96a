import { useEffect, useState } from "preact/hooks";

/** A value that changes, and those who want to know of it. */
export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  set(value: T): void {
    if (value === this.value) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  }

  update(change: (value: T) => T): void {
    this.set(change(this.value));
  }

  isWatched(): boolean {
    return this.listeners.size > 0;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The value of a store; the component is drawn again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, setVersion] = useState(0);
  useEffect(() => {
    const seen = store.get();
    const unsubscribe = store.subscribe(() => setVersion((version) => version + 1));
    if (store.get() !== seen) setVersion((version) => version + 1);
    return unsubscribe;
  }, [store]);
  return store.get();
}
