/** Bodies as the tiny API reads them: what is no JSON object counts as an empty one (A0). */

/** Deeper than this is nobody's request, and could exhaust the stack of what reads it. */
export const MAX_DEPTH = 64;

/** Never throws; undefined where the text is no JSON or too deep. */
export function parseJson(text: string): unknown {
  if (depthOf(text) > MAX_DEPTH) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (quoted) {
      if (unit === 0x5c) i++;
      else if (unit === 0x22) quoted = false;
    } else if (unit === 0x22) quoted = true;
    else if (unit === 0x5b || unit === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (unit === 0x5d || unit === 0x7d) depth--;
  }
  return deepest;
}
