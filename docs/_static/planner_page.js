/* The page around planner.js: reads settings, shows numbers, words and a picture. */
(() => {
  "use strict";

  const {
    WAYS, likely, unlikely, plan, problems, guarantee, roundedUp, grouped,
  } = globalThis.tacitPlanner;
  const root = document.querySelector(".planner"), form = root.querySelector("form");
  const one = (selector) => root.querySelector(selector);

  const CHOSEN = ["what", "noise", "relation", "family"];

  const settings = () => Object.fromEntries([...new FormData(form)].map(([name, text]) => {
    if (CHOSEN.includes(name)) return [name, text];
    return [name, text.trim() === "" ? NaN : Number(text)];
  }));

  const HTML = "http://www.w3.org/1999/xhtml", SVG = "http://www.w3.org/2000/svg";

  /** An element with text and attributes. */
  const made = (name, text, attributes = {}, inside = HTML) => {
    const element = document.createElementNS(inside, name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  const shown = (value) => {
    const short = Number(value.toPrecision(3));
    if (short >= 1e6 || short < 1e-4) return short.toExponential().replace("+", "");
    return short >= 1000 ? grouped(String(short)) : String(short);
  };

  const COLUMNS = {
    mean: {
      mean: "Error of the mean, each entry",
      length: "Error of the mean, as a vector",
      sum: "Error of the sum, each entry",
      multiplier: "Noise multiplier",
      scale: "Noise scale of one site's answer",
    },
    regression: {
      width: "Interval width (pooled fit: 1)",
      curvature: "Noise over smallest eigenvalue",
      multiplier: "Noise multiplier, last sum",
      score: "Noise scale of the score",
    },
  };

  const NOTES = {
    mean: "Errors are standard deviations (as a vector, root mean squares) from the noise alone, "
      + "in one round. Mean and sum are over the records of all sites. With central noise, the "
      + "scale is that of the curator's single noise.",
    regression: "The width is a forecast for a numeric column that spreads evenly over its "
      + "declared bounds, and for moderate effects. A narrower one, or a level that few records "
      + "have, needs more records. Intervals are withheld where noise hides the information: in "
      + `simulations with a forecast up to ${likely} hardly ever, from ${unlikely} mostly.`,
  };

  const CENTRAL = {
    adversary: "everybody but the curator, who sees all records",
    status: "for comparison: tacit runs no trusted curator",
    sentence: "One party holds the records of all sites and adds noise once. Against that party "
      + "there is no guarantee, which is why tacit has no such run. Secure aggregation comes close "
      + "to its accuracy without it.",
  };

  const showProblems = (found) => {
    for (const input of form.querySelectorAll(".fields input")) {
      const id = `${input.name}-wrong`;
      if (!one(`#${id}`)) input.parentElement.append(made("p", "", { id, class: "wrong" }));
      one(`#${id}`).textContent = found[input.name] ?? "";
      input.setAttribute("aria-invalid", input.name in found);
    }
    const names = Object.keys(found);
    if (names.length) {
      one("#planner-answer").replaceChildren("No plan: see ", ...names.flatMap((name, i) => {
        const link = made("button", one(`label[for=${name}]`).textContent, { type: "button" });
        link.addEventListener("click", () => one(`#${name}`).focus());
        return i ? [", ", link] : [link];
      }), ".");
    }
    one("#planner-result").hidden = names.length > 0;
  };

  const answer = (s, own) => {
    if (s.what === "mean") {
      return `${WAYS[s.noise]}: every entry of the mean is off by ${shown(own.mean)} (standard `
        + `deviation), of the sum by ${shown(own.sum)}.`;
    }
    const wide = `${WAYS[s.noise]}: intervals are ${shown(own.width)} times as wide as those of `
      + "the pooled fit";
    if (own.curvature >= unlikely) {
      return `${wide}, and would probably be withheld: take more records, a larger epsilon or `
        + "fewer parameters.";
    }
    const near = own.curvature > likely;
    return near ? `${wide}, and may be withheld: the noise decides.` : `${wide}.`;
  };

  const showTable = (s, found) => {
    const columns = COLUMNS[s.what], head = made("tr", "");
    const titles = ["Noise", ...Object.values(columns)];
    head.append(...titles.map((text) => made("th", text, { scope: "col" })));
    one("thead").replaceChildren(head);
    one("tbody").replaceChildren(...Object.entries(WAYS).map(([way, name]) => {
      const chosen = way === s.noise ? { class: "chosen", "aria-current": "true" } : {};
      const row = made("tr", "", chosen);
      const cells = Object.keys(columns).map((key) => found[way][key]);
      row.append(
        made("th", name, { scope: "row" }),
        ...cells.map((value) => made("td", shown(value), { "data-value": value })),
      );
      return row;
    }));
    const alone = s.noise !== "masked" ? "" : " If the cryptography of the masks failed, the "
      + `noise of each site alone would leave an epsilon of ${shown(found.masked.alone)}.`;
    one("#planner-note").textContent = NOTES[s.what] + alone;
  };

  const showWords = (s) => {
    const words = { ...guarantee(s), ...(s.noise === "central" ? CENTRAL : {}) };
    const rows = {
      Unit: words.unit,
      Adjacency: words.relation,
      Adversary: words.adversary,
      Status: words.status,
    };
    one("dl").replaceChildren(...Object.entries(rows).flatMap(
      ([name, text]) => [made("dt", name), made("dd", text)]));
    one("blockquote").textContent = words.sentence;
  };

  const HEIGHT = 280, LEFT = 62, TOP = 10, BOTTOM = HEIGHT - 44;

  /** Some of the numbers 1, 2 and 5 times powers of ten within an interval. */
  const ticks = (low, high, count) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      found.push(...[1, 2, 5].map((digit) => Number(`${digit}e${power}`)));
    }
    const inside = found.filter((each) => each >= low * 0.999 && each <= high * 1.001);
    return inside.filter((_, i) => i % Math.ceil(inside.length / count) === 0);
  };

  /** Where a number stands on a logarithmic axis. */
  const axis = (low, high, from, to) => (value) => (
    from + ((to - from) * Math.log(value / low)) / Math.log(high / low));

  const showPicture = (s) => {
    const [key, what] = s.what === "mean"
      ? ["mean", "Error of the mean (each entry)"] : ["width", COLUMNS.regression.width];
    const least = Math.min(0.1, s.epsilon / 2), most = Math.max(10, s.epsilon * 2);
    const at = Array.from({ length: 41 }, (_, i) => least * (most / least) ** (i / 40));
    const plans = at.map((epsilon) => plan({ ...s, epsilon }));
    const all = plans.flatMap((each) => Object.keys(WAYS).map((way) => each[way][key]));
    let low = Math.min(...all), high = Math.max(...all);
    if (key === "width") [low, high] = [Math.min(low, 1), Math.max(2, Math.min(high, 20))];
    const width = Math.max(one("figure").clientWidth, 280), right = width - 14;
    const x = axis(least, most, LEFT, right), y = axis(low, high, BOTTOM, TOP);
    const line = (name, x1, y1, x2, y2) => made("line", "", { class: name, x1, y1, x2, y2 }, SVG);
    const text = (words, left, top, anchor) => made(
      "text", words, { x: left, y: top, "text-anchor": anchor }, SVG);
    const parts = [
      ...ticks(least, most, width / 60).flatMap((tick) => [
        line("grid", x(tick), TOP, x(tick), BOTTOM),
        text(shown(tick), x(tick), BOTTOM + 18, "middle"),
      ]),
      ...ticks(low, high, 9).flatMap((tick) => [
        line("grid", LEFT, y(tick), right, y(tick)),
        text(shown(tick), LEFT - 8, y(tick) + 4, "end"),
      ]),
      text("epsilon", (LEFT + right) / 2, HEIGHT - 6, "middle"),
      line("now", x(s.epsilon), TOP, x(s.epsilon), BOTTOM),
    ];
    for (const way of Object.keys(WAYS)) {
      const points = plans
        .map((each, i) => [x(at[i]), y(each[way][key])])
        .filter(([, height]) => height >= TOP - 0.5)
        .map((point) => point.map((each) => each.toFixed(1)).join());
      parts.push(made("polyline", "", { class: way, points: points.join(" ") }, SVG));
    }
    one("svg").setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    one("svg").replaceChildren(...parts);
    one("#planner-picture").textContent = `${what} over epsilon, at delta ${roundedUp(s.delta)}; `
      + `both axes are logarithmic, and the vertical line is at epsilon ${s.epsilon}.`;
  };

  const update = () => {
    const s = settings(), wrong = problems(s);
    for (const field of form.querySelectorAll("[data-for]")) {
      field.hidden = field.dataset.for !== s.what;
    }
    showProblems(wrong);
    if (Object.keys(wrong).length === 0) {
      const found = plan(s);
      one("#planner-answer").textContent = answer(s, found[s.noise]);
      showTable(s, found);
      showWords(s);
      showPicture(s);
    }
    // the address is a link to this plan, and nothing is sent anywhere
    history.replaceState(null, "", `#${new URLSearchParams(new FormData(form))}`);
  };

  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const field = form.elements.namedItem(name);
    if (field) field.value = value;
  }
  form.addEventListener("input", update);
  addEventListener("resize", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
})();
