// Elements of the page.

/**
 * A new element. `spec` is its tag and its classes, as in "p.note.wide". Of `parts`, an object
 * gives properties and attributes; anything else is a child.
 * @param {string} spec @returns {any}
 */
export function make(spec, ...parts) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag);
  element.className = classes.join(" ");
  for (const part of parts) {
    if (part instanceof Node || typeof part !== "object") element.append(part);
    else {
      for (const [name, value] of Object.entries(part)) {
        if (name in element) element[name] = value;
        else element.setAttribute(name, value);
      }
    }
  }
  return element;
}

// Writes a text or an attribute only where it has changed: the board is drawn up to sixty times a
// second.
export function say(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}
export function attribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Sets a canvas's size, which clears it, if it has another. @param {HTMLCanvasElement} canvas */
export function sized(canvas, width, height) {
  if (canvas.width !== width || canvas.height !== height) {
    [canvas.width, canvas.height] = [width, height];
  }
  return canvas;
}
