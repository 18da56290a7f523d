// Redraws a part of the page and keeps what a person has there: the focus, the
// caret, what is being typed, and which details are open.

/**
 * Makes the children of a like those of b.
 * @param {Element} a on the page
 * @param {ParentNode} b
 */
export function morph(a, b) {
  const fresh = [...b.childNodes];
  fresh.forEach((node, i) => {
    const old = a.childNodes[i];
    if (!old) {
      a.append(node);
    } else if (old instanceof Element && node instanceof Element && same(old, node)) {
      attributes(old, node);
      morph(old, node);
      settle(old, node);
    } else if (old.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE) {
      if (old.nodeValue !== node.nodeValue) {
        old.nodeValue = node.nodeValue;
      }
    } else {
      old.replaceWith(node);
    }
  });
  while (a.childNodes.length > fresh.length) {
    a.lastChild?.remove();
  }
}

/**
 * Tells whether two elements are the same one at two times.
 * @param {Element} a
 * @param {Element} b
 */
function same(a, b) {
  return a.tagName === b.tagName && a.id === b.id && a.getAttribute("name") === b.getAttribute("name");
}

/**
 * @param {Element} a
 * @param {Element} b
 */
function attributes(a, b) {
  for (const { name } of [...a.attributes]) {
    if (!b.hasAttribute(name) && name !== "open") {
      a.removeAttribute(name);
    }
  }
  for (const { name, value } of b.attributes) {
    if (a.getAttribute(name) !== value) {
      a.setAttribute(name, value);
    }
  }
}

/**
 * Takes over what attributes do not say.
 * @param {Element} a
 * @param {Element} b
 */
function settle(a, b) {
  if (a instanceof HTMLInputElement && b instanceof HTMLInputElement && a !== document.activeElement) {
    a.value = b.value;
  }
  if (a instanceof HTMLTextAreaElement && b instanceof HTMLTextAreaElement && a !== document.activeElement && a.value !== b.value) {
    a.value = b.value;
  }
  if (a instanceof HTMLSelectElement && b instanceof HTMLSelectElement) {
    a.value = b.value;
  }
}
