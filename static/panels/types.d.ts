// Types of plotly's charts, as far as they are read.

interface PlotAxis {
  title?: { text?: string };
}
interface PlotTrace {
  name: string;
  x?: (string | number | null)[];
  y: number[];
  customdata?: unknown[];
  error_y?: { visible?: boolean; array: number[]; arrayminus: number[] };
}
/** A chart's element, once plotly has drawn it. */
interface Plot extends Element {
  _fullLayout: { xaxis: PlotAxis; yaxis: PlotAxis };
  _fullData: PlotTrace[];
  _responsiveChartHandler?: () => void;
}
/** Plotly, once Gradio has loaded it for a chart. */
declare const Plotly: {
  toImage(
    plot: Plot,
    options: { format: "svg"; width: number; height: number; imageDataOnly: true },
  ): Promise<string>;
};
/** The heading of a figure in its file; a part is "" where there is nothing to say. */
interface Heading {
  title: string;
  sentence: string;
  facts: string;
}
