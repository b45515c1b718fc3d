"use strict";
// Unpack Plotly, draw the figures, and keep them legible on paper. Reads only this page.

const element = (id) => document.getElementById(id);

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function draw(id, figure) {
  const plot = element(id);
  // On a touch screen a finger on a figure scrolls the page instead of zooming the figure.
  if (matchMedia("(pointer: coarse)").matches) figure.layout.dragmode = false;
  const config = { responsive: true, displaylogo: false, displayModeBar: false };
  // With a view box, print can scale a drawing to the width of the paper.
  const scalable = () => {
    plot.style.setProperty("--ratio", plot.clientWidth / plot.clientHeight);
    for (const svg of plot.querySelectorAll(".main-svg")) {
      svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
    }
  };
  return Plotly.newPlot(plot, figure.data, figure.layout, config).then(() => {
    scalable();
    plot.on("plotly_afterplot", scalable);
  });
}

async function main() {
  const library = document.createElement("script");
  library.textContent = await unpack(element("plotly").textContent);
  document.head.append(library);
  const figures = JSON.parse(element("figures").textContent);
  await Promise.all(Object.entries(figures).map(([id, figure]) => draw(id, figure)));
  document.documentElement.dataset.figures = "drawn";
}

// Paper cannot be clicked: print explanations opened, then fold again what the reader had folded.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details.explain:not([open])")];
  for (const details of folded) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
});

main().catch((error) => {
  document.documentElement.dataset.figures = "failed";
  console.error(error);
});
