// What the board uses of lit-html (https://lit.dev, 3.3.3). Types alone.

/** A template with its values, to be rendered. */
export interface TemplateResult {
  readonly strings: TemplateStringsArray;
  readonly values: unknown[];
}
export function html(strings: TemplateStringsArray, ...values: unknown[]): TemplateResult;
export function svg(strings: TemplateStringsArray, ...values: unknown[]): TemplateResult;
/** As an attribute's value it removes the attribute; as a child it is none. */
export const nothing: unique symbol;
/** Brings what `container` holds to `value`; nobody else may change its children. */
export function render(value: unknown, container: HTMLElement | DocumentFragment): unknown;
