/* The page around planner.js: reads settings, shows numbers, words and a picture. */
(() => {
  "use strict";

  const { WAYS, mostCurvature, plan, problems, guarantee, grouped, roundedUp } = globalThis.tacitPlanner;
  const root = document.getElementById("planner"), form = root.querySelector("form");
  const one = (selector) => root.querySelector(selector);

  const TEXTS = ["what", "noise", "relation", "family"];

  const settings = () => Object.fromEntries([...new FormData(form)].map(
    ([name, text]) => [name, TEXTS.includes(name) ? text : text.trim() === "" ? NaN : Number(text)]));

  /** An element with text and attributes. */
  const made = (name, text, attributes = {}, inside = "http://www.w3.org/1999/xhtml") => {
    const element = document.createElementNS(inside, name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  const shown = (value) => {
    const short = Number(value.toPrecision(3));
    if (value >= 1e6 || value < 1e-4) return value.toExponential(2);
    return value >= 1000 ? grouped(String(short)) : String(short);
  };

  const COLUMNS = {
    mean: {
      multiplier: "Noise multiplier", scale: "Noise scale of one site's answer",
      mean: "Error of the mean, each entry", length: "Error of the mean, as a vector",
      sum: "Error of the sum, each entry",
    },
    regression: {
      multiplier: "Noise multiplier, last sum", score: "Noise scale of the score",
      width: "Interval width (pooled fit: 1)", curvature: "Noise over smallest eigenvalue",
    },
  };

  const NOTES = {
    mean: "Errors are standard deviations (as a vector, root mean squares) from the noise alone, of one round. "
      + "The mean and the sum are over the records of all sites. The curator's noise is one for all.",
    regression: "The width is a forecast for a numeric column that spreads evenly over its declared bounds, and for "
      + `moderate effects. Intervals are withheld if the last column is above ${mostCurvature}.`,
  };

  const CENTRAL = {
    unit: "record", adversary: "everybody but the curator, who sees all records",
    status: "for comparison: tacit runs no trusted curator",
  };

  const showProblems = (found) => {
    for (const input of form.querySelectorAll(".fields input")) {
      const text = found[input.name];
      let message = one(`#${input.name}-wrong`);
      if (!message) {
        message = made("p", "", { id: `${input.name}-wrong`, class: "wrong" });
        input.parentElement.append(message);
      }
      message.textContent = text ?? "";
      input.setAttribute("aria-invalid", text ? "true" : "false");
    }
    const names = Object.keys(found).map((name) => one(`label[for=${name}]`).textContent);
    if (names.length) one("#planner-answer").textContent = `No plan: see ${names.join(", ")}.`;
    one("#planner-result").hidden = names.length > 0;
  };

  const answer = (s, found) => {
    const way = WAYS[s.noise], own = found[s.noise];
    if (s.what === "mean") {
      return `${way}: every entry of the mean is off by ${shown(own.mean)} (standard deviation), of the sum `
        + `by ${shown(own.sum)}.`;
    }
    const wide = `${way}: intervals are ${shown(own.width)} times as wide as those of the pooled fit`;
    if (own.curvature > mostCurvature) {
      return `${wide}, and would probably be withheld: take more records, a larger epsilon or fewer parameters.`;
    }
    return own.curvature > mostCurvature / 3 ? `${wide}, and may be withheld if columns are correlated.` : `${wide}.`;
  };

  const showTable = (s, found) => {
    const columns = COLUMNS[s.what], head = made("tr", "");
    head.append(made("th", "Noise", { scope: "col" }),
      ...Object.values(columns).map((text) => made("th", text, { scope: "col" })));
    one("thead").replaceChildren(head);
    one("tbody").replaceChildren(...Object.entries(WAYS).map(([way, name]) => {
      const row = made("tr", "", way === s.noise ? { class: "chosen", "aria-current": "true" } : {});
      row.append(made("th", name, { scope: "row" }), ...Object.keys(columns).map((key) => made(
        "td", shown(found[way][key]), { "data-value": found[way][key] })));
      return row;
    }));
    const lone = s.noise === "masked"
      ? ` If the cryptography of the masks failed, the noise of each site alone would leave an epsilon of ${shown(found.masked.alone)}.`
      : "";
    one("#planner-note").textContent = NOTES[s.what] + lone;
  };

  const showWords = (s) => {
    const central = s.noise === "central", stated = guarantee({ ...s, noise: central ? "local" : s.noise });
    const words = { ...stated, ...(central ? CENTRAL : {}) };
    const rows = { Unit: words.unit, Adjacency: words.relation, Adversary: words.adversary, Status: words.status };
    one("dl").replaceChildren(...Object.entries(rows).flatMap(
      ([name, text]) => [made("dt", name), made("dd", text)]));
    one("blockquote").textContent = central
      ? "One party holds the records of all sites and adds noise once. Against that party there is no guarantee, which is why "
        + "tacit has no such run. Secure aggregation comes close to its accuracy without it."
      : stated.sentence;
  };

  const SVG = "http://www.w3.org/2000/svg", BOX = { left: 62, right: 626, top: 34, bottom: 256 };

  /** Numbers 1, 2 and 5 times powers of ten within an interval. */
  const ticks = (low, high) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      found.push(...[1, 2, 5].map((digit) => Number(`${digit}e${power}`)));
    }
    return found.filter((each) => each >= low * 0.999 && each <= high * 1.001);
  };

  const showPicture = (s) => {
    const key = s.what === "mean" ? "mean" : "width";
    const what = s.what === "mean" ? "Error of the mean (each entry)" : "Interval width (pooled fit: 1)";
    const least = Math.min(0.1, s.epsilon / 2), most = Math.max(10, s.epsilon * 2);
    const at = Array.from({ length: 41 }, (_, i) => least * (most / least) ** (i / 40));
    const plans = at.map((epsilon) => plan({ ...s, epsilon }));
    const all = plans.flatMap((each) => Object.keys(WAYS).map((way) => each[way][key]));
    let low = Math.min(...all), high = Math.max(...all);
    if (key === "width") [low, high] = [Math.min(low, 1), Math.max(2, Math.min(high, 20))];
    const x = (value) => BOX.left + (Math.log(value / least) / Math.log(most / least)) * (BOX.right - BOX.left);
    const y = (value) => BOX.bottom - (Math.log(value / low) / Math.log(high / low)) * (BOX.bottom - BOX.top);
    const draw = (name, attributes, text = "") => made(name, text, attributes, SVG);
    const parts = [];
    for (const tick of ticks(least, most)) {
      parts.push(draw("line", { class: "grid", x1: x(tick), x2: x(tick), y1: BOX.top, y2: BOX.bottom }),
        draw("text", { x: x(tick), y: BOX.bottom + 18, "text-anchor": "middle" }, String(tick)));
    }
    const levels = ticks(low, high), each = Math.ceil(levels.length / 9);
    for (const tick of levels.filter((_, i) => i % each === 0)) {
      parts.push(draw("line", { class: "grid", x1: BOX.left, x2: BOX.right, y1: y(tick), y2: y(tick) }),
        draw("text", { x: BOX.left - 8, y: y(tick) + 4, "text-anchor": "end" }, shown(tick)));
    }
    parts.push(draw("text", { x: (BOX.left + BOX.right) / 2, y: 294, "text-anchor": "middle" }, "epsilon"),
      draw("line", { class: "now", x1: x(s.epsilon), x2: x(s.epsilon), y1: BOX.top, y2: BOX.bottom }));
    Object.entries(WAYS).forEach(([way, name], i) => {
      const points = plans.map((each, k) => [x(at[k]), y(each[way][key])])
        .filter(([, height]) => height >= BOX.top - 0.5);
      const start = BOX.left + 190 * i;
      parts.push(
        draw("polyline", { class: `line ${way}`, points: points.map((p) => p.map((v) => v.toFixed(1)).join()).join(" ") }),
        draw("line", { class: `line ${way}`, x1: start, x2: start + 28, y1: 14, y2: 14 }),
        draw("text", { x: start + 36, y: 18 }, name.toLowerCase()));
    });
    one("svg").replaceChildren(...parts);
    one("#planner-picture").textContent = `${what} over epsilon, at delta ${roundedUp(s.delta)}; both axes are logarithmic, and the `
      + `vertical line is at epsilon ${s.epsilon}.`;
  };

  const update = () => {
    const s = settings();
    for (const field of form.querySelectorAll("[data-for]")) field.hidden = field.dataset.for !== s.what;
    const wrong = problems(s);
    showProblems(wrong);
    if (Object.keys(wrong).length === 0) {
      const found = plan(s);
      one("#planner-answer").textContent = answer(s, found);
      showTable(s, found);
      showWords(s);
      showPicture(s);
    }
    // a link to this plan; nothing is sent anywhere
    history.replaceState(null, "", `#${new URLSearchParams(new FormData(form))}`);
  };

  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const field = form.elements.namedItem(name);
    if (field) field.value = value;
  }
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
})();
