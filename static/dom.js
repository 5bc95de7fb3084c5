// Elements of the page, and its window.

/**
 * Return the height of the page's visible part, in pixels. In a Space's iframe the window can be as
 * tall as the page, so the screen's height is the limit.
 */
export const windowHeight = () => Math.min(innerHeight, screen.height);

/**
 * Return the query in the page's address. A file opened from disk may have it after a # instead.
 */
export const addressQuery = () => location.search || location.hash.replace("#", "?");

/** Mark the page as opened: its first race, if it has one, is drawn. */
export const markOpened = () => void (document.documentElement.dataset.opened = "1");

/**
 * Return the first element in `root` that a selector finds. Throw if there is none, or if it is not
 * of this kind (by default HTMLElement).
 * @overload @param {ParentNode} root @param {string} selector @returns {HTMLElement}
 */
/**
 * @template {Element} E
 * @overload @param {ParentNode} root @param {string} selector @param {new () => E} kind
 * @returns {E}
 */
/** @param {ParentNode} root @param {string} selector @param {new () => Element} kind */
export function query(root, selector, kind = HTMLElement) {
  const found = root.querySelector(selector);
  if (!(found instanceof kind)) throw new TypeError(`there is no ${kind.name} ${selector}`);
  return found;
}

/**
 * Return the HTML elements in `root` that a selector finds.
 * @param {ParentNode} root @param {string} selector
 */
export const queryAll = (root, selector) =>
  [...root.querySelectorAll(selector)].filter((found) => found instanceof HTMLElement);

/**
 * Return the nearest element around an event's target that a selector matches.
 * @param {Event} event @param {string} selector
 */
export const closest = ({ target }, selector) =>
  target instanceof Element ? target.closest(selector) : null;

/** Copy a template's content. @param {HTMLTemplateElement} template */
export const templateCopy = ({ content }) => document.importNode(content, true);

/**
 * Return a function that finds elements in `root` by their class, as `query` does.
 * @param {ParentNode} root
 */
export function finder(root) {
  /** @overload @param {string} name @returns {HTMLElement} */
  /** @template {Element} E @overload @param {string} name @param {new () => E} kind @returns {E} */
  /** @param {string} name @param {new () => Element} kind */
  function part(name, kind = HTMLElement) {
    return query(root, "." + name, kind);
  }
  return part;
}

/** Return the field that the prompt is typed into. */
export function promptField() {
  const field = query(document, "#prompt :is(input, textarea)");
  if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) return field;
  throw new TypeError("the prompt has another field");
}

/**
 * Read a colour that a style names, for canvases.
 * @param {CSSStyleDeclaration} style @param {string} name
 */
export const colourNamed = (style, name) => style.getPropertyValue(`--${name}`).trim();

/** Return a canvas's 2D context. @param {HTMLCanvasElement} canvas */
export function penOf(canvas) {
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("this browser draws on no more canvases");
  return pen;
}

// `say` and `attribute` write only what has changed: the board is drawn up to sixty times a second.

/** @param {Element} element @param {string | number} text */
export function say(element, text) {
  if (element.textContent !== String(text)) element.textContent = String(text);
}
/** @param {Element} element @param {string} name @param {string | number | boolean} value */
export function attribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/**
 * Set a canvas's size in pixels, which clears it, if the size differs.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 */
export function sized(canvas, width, height) {
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  return canvas;
}

/**
 * Read the text that the browser keeps under a name. Return "" if there is no text, or if the
 * browser keeps nothing. Such a browser may throw as soon as its storage is touched.
 * @param {() => Storage} storage @param {string} item
 */
export function kept(storage, item) {
  try {
    return storage().getItem(item) ?? "";
  } catch {
    return "";
  }
}

/**
 * Keep a text under a name, where the browser allows it.
 * @param {() => Storage} storage @param {string} item @param {string} text
 */
export function keep(storage, item, text) {
  try {
    storage().setItem(item, text);
  } catch {
    // This browser keeps nothing.
  }
}
