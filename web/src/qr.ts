import qrcode from "qrcode-generator";

const kQuietZone = 4; // modules of white on each side, which readers need

export interface QrCode {
  size: number; // modules, with the quiet zone
  path: string; // of the dark modules, as the `d` of an SVG path
}

/** The QR code of a text, with error correction level L, as long texts on a screen need. errors: throws if too long. */
export function qrCode(text: string): QrCode {
  const code = qrcode(0, "L");
  code.addData(text);
  code.make();
  const count = code.getModuleCount();
  let path = "";
  for (let row = 0; row < count; row++)
    for (let column = 0; column < count; column++)
      if (code.isDark(row, column)) path += `M${column + kQuietZone} ${row + kQuietZone}h1v1h-1z`;
  return { size: count + 2 * kQuietZone, path };
}
