// The scripts' texts, in the page's language.

/** @type {Record<string, string> | undefined} translations by their English text, once something was said */
let translations;

/**
 * Says a text with its arguments in the place of %s, %d or %[2]s. A text without a
 * translation comes in English.
 * @param {string} text in English
 * @param {...(string | number)} args
 */
export function say(text, ...args) {
  translations ??= /** @type {Record<string, string>} */ (JSON.parse(globalThis.document?.getElementById("words")?.textContent ?? "{}"));
  let next = 0;
  return unparted(
    (translations[text] ?? text).replace(/%(?:\[(\d+)\])?[sd]/g, (_, place) => {
      next = place ? Number(place) : next + 1;
      const arg = args[next - 1];
      return typeof arg === "number" ? arg.toLocaleString(globalThis.document?.documentElement.lang || "en") : arg;
    }),
  );
}

/**
 * A text in which no line ends between a number and its unit: Unparted of package words.
 * @param {string} text
 */
export const unparted = (text) => text.replace(/\b(\d[\d.,]*) (?=(?:[mµ]?s|min|[hd]|[kKM]i?B)\b|%|\p{Script=Han})/gu, "$1\u00a0");

/**
 * Says a length of time: "62 ms", and in minutes what has whole seconds, "4 min 20 s".
 * @param {number} ms
 */
export function duration(ms) {
  if (ms < 60_000 || ms % 1000 !== 0) {
    return say("%d ms", ms);
  }
  const [minutes, seconds] = [Math.floor(ms / 60_000), (ms % 60_000) / 1000];
  return seconds === 0 ? say("%d min", minutes) : say("%d min %d s", minutes, seconds);
}
