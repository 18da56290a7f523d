// What the scripts say, in the page's language.

/** @type {Record<string, string>} translations by their English text */
const translations = JSON.parse(document.getElementById("words")?.textContent ?? "{}");

/**
 * Says a text with its arguments in the place of %s, %d or %[2]s. A text
 * without a translation is said in English.
 * @param {string} text in English
 * @param {...(string | number)} args
 */
export function say(text, ...args) {
  let next = 0;
  return (translations[text] ?? text).replace(/%(?:\[(\d+)\])?[sd]/g, (_, place) => {
    next = place ? Number(place) : next + 1;
    const arg = args[next - 1];
    return typeof arg === "number" ? arg.toLocaleString(document.documentElement.lang) : arg;
  });
}
