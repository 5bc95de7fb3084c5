// What the page uses of client-zip (https://github.com/Touffy/client-zip, 2.5.1). Types alone.

/** An answer whose body is a ZIP of these files. */
export function downloadZip(files: { name: string; input: string }[]): Response;
