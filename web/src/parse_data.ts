/** The object that a text of JSON is. Null: it is none, which only a broken server sends. */
export function parseData(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
