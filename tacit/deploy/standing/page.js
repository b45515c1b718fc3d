"use strict";

// Everything is put in as text, never as markup: names and titles come from others.

const SECONDS = 2;

const at = (id) => document.getElementById(id);

function make(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function number(value) {
  // rounded up, as everywhere: a smaller one would promise too much
  const digits = value > 0 ? 3 - Math.floor(Math.log10(value)) : 0;
  const scale = 10 ** Math.min(Math.max(digits, 0), 12);
  return String(Math.ceil(value * scale - 1e-9) / scale);
}

function small(value) {
  return value < 1e-3 ? value.toExponential() : String(value);
}

function ago(seconds) {
  if (seconds === null || seconds === undefined) return "not heard yet";
  if (seconds < 5) return "here";
  return seconds < 120 ? `${Math.round(seconds)} s ago` : `${Math.round(seconds / 60)} min ago`;
}

const KINDS = {
  finished: "good", running: "good", failed: "bad", refused: "bad",
};

function stated(run) {
  if (run.state === "to be approved") return "Waits for your approval";
  if (run.state === "waits for signatures") return "Waits for signatures";
  return run.state[0].toUpperCase() + run.state.slice(1);
}

function runCard(run) {
  const card = make("article", undefined, "card");
  const head = make("div", undefined, "head");
  head.append(make("h3", run.title), make("span", stated(run), `state ${KINDS[run.state] || "wait"}`));
  card.append(head);
  const claim = run.claim ? ` (${run.claim})` : "";
  const cost = run.epsilon === null ? "" : `, epsilon ${number(run.epsilon)}${claim}`;
  const of = run.dataset ? ` from the budget of ${run.dataset}` : "";
  const about = make("p", `${run.method}${cost}${of}, run `, "soft");
  about.append(make("code", run.run.slice(0, 12)));
  card.append(about);
  if (run.state === "to be approved") {
    const how = make("p", "See what it costs, and decide: ");
    how.append(make("code", `tacit site approve ${run.run.slice(0, 12)}`));
    card.append(how);
  }
  if (run.refused_by.length) card.append(make("p", `Refused by ${run.refused_by.join(", ")}`, "bad"));
  if (run.waits_for.length && run.state !== "to be approved") {
    card.append(make("p", `Waits for ${run.waits_for.join(", ")}`, "wait"));
  }
  if ((run.failed_at || []).length) card.append(make("p", `Failed at ${run.failed_at.join(", ")}`, "bad"));
  const begun = Object.entries(run.begun_by || {}).map(([name, version]) => `${name} began it with tacit ${version}`);
  const versions = Object.entries(run.other_versions || {}).map(([name, version]) => `${name} has ${version}`);
  if (begun.length) {
    card.append(make("p", begun.join(", "), "wait"));
  } else if (versions.length) {
    const needs = run.began_with ? `Ends with tacit ${run.began_with}, with which it began` : "Begins when all have one version of tacit";
    card.append(make("p", `${needs}: ${versions.join(", ")}`, "wait"));
  }
  if (!["finished", "running"].includes(run.state)) card.append(make("p", `Signed by ${run.signed.join(", ") || "nobody"}`));
  if (run.failure) card.append(make("p", run.failure, "bad"));
  if (run.state === "running" && run.progress.rounds) card.append(...progressOf(run.progress));
  for (const [what, path] of [["Report", run.report], ["Signed bundle", run.bundle]]) {
    if (!path) continue;
    const line = make("p", `${what}: `);
    line.append(make("code", path));
    card.append(line);
  }
  return card;
}

function progressOf(now) {
  if (now.state === "starting") return [make("p", "Starting: it compiles first", "soft")];
  const bar = make("progress");
  bar.max = now.rounds;
  bar.value = Math.min(now.round, now.rounds);
  bar.setAttribute("aria-label", "Rounds");
  const parts = [bar, make("p", `Round ${Math.min(now.round, now.rounds)} of ${now.rounds}`)];
  const around = Object.entries(now.neighbours);
  if (around.length) {
    parts.push(tableOf(
      ["Neighbour", "Last heard", "Typical wait"],
      around.map(([name, each]) => [
        name,
        now.without.includes(name) ? "left out" : ago(each.silent_seconds),
        each.waited_seconds ? `${Math.round(1000 * each.waited_seconds)} ms` : "",
      ]),
    ));
  }
  return parts;
}

function budgetCard(each) {
  const card = make("article", undefined, "card");
  card.append(make("h3", each.name));
  if (each.problem) {
    card.append(make("p", each.problem, "bad"));
    return card;
  }
  const bar = make("div", undefined, "bar");
  const space = "http://www.w3.org/2000/svg";
  const drawn = document.createElementNS(space, "svg");
  drawn.setAttribute("viewBox", "0 0 1000 10");
  drawn.setAttribute("preserveAspectRatio", "none");
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", `${number(each.spent)} of ${each.epsilon} spent`);
  for (const [kind, value] of [["promised", each.promised], ["spent", each.spent]]) {
    const part = document.createElementNS(space, "rect");
    part.setAttribute("class", kind);
    part.setAttribute("height", "10");
    part.setAttribute("width", String(Math.min(1000, 1000 * value / each.epsilon)));
    drawn.append(part);
  }
  bar.append(drawn);
  const claim = each.claim ? ` (${each.claim})` : "";
  card.append(bar, make("p", `Epsilon ${number(each.spent)} of ${each.epsilon} spent, at delta ${small(each.delta)}${claim}`));
  if (each.promised > each.spent) {
    card.append(make("p", `With all approved runs at most ${number(each.promised)}`, "soft"));
  }
  return card;
}

function tableOf(headings, rows) {
  const box = make("div", undefined, "scroll");
  const table = make("table");
  const top = make("tr");
  for (const text of headings) {
    const cell = make("th", text);
    cell.scope = "col";
    top.append(cell);
  }
  const head = make("thead");
  head.append(top);
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr");
    for (const text of row) line.append(make("td", text));
    body.append(line);
  }
  table.append(head, body);
  box.append(table);
  return box;
}

function agentWords(agent) {
  if (agent.doing === "runs") return `The agent is in run ${agent.run.slice(0, 12)}; others are met afterwards.`;
  if (agent.doing === "pausing") return "The agent pauses for an upgrade as soon as no run needs it.";
  if (agent.doing === "paused") return "The agent is paused for an upgrade.";
  if (agent.doing === "meets") return "The agent is in no run, and meets the others.";
  return "The agent starts or stops, it hangs or its disk is full.";
}

function show(found) {
  if (found.problem) throw new Error(found.problem);
  document.title = `${found.name}: tacit`;
  at("name").textContent = found.name;
  at("agent").className = "";
  at("agent").textContent = agentWords(found.agent);
  const order = { running: 0, "to be approved": 1, finished: 4, refused: 5 };
  const runs = [...found.runs].sort((a, b) => (order[a.state] ?? 2) - (order[b.state] ?? 2));
  const problems = Object.entries(found.problems).map(([number, told]) =>
    make("p", `Run ${number.slice(0, 12)} cannot be read: ${told}`, "bad"));
  at("runs").replaceChildren(
    ...problems,
    ...(runs.length ? runs.map(runCard) : [make("p", "None yet.", "soft")]),
  );
  at("budgets-section").hidden = !found.datasets.length;
  at("budgets").replaceChildren(...found.datasets.map(budgetCard));
  const meets = found.agent.doing === "meets";
  at("members").replaceChildren(found.members.length
    ? tableOf(
      ["Name", "Address", ...(meets ? ["Last heard"] : [])],
      found.members.map((each) => [
        each.name,
        each.address || "connects out",
        ...(meets ? [ago(each.heard_seconds)] : []),
      ]),
    )
    : make("p", "Nobody is confirmed yet.", "soft"));
}

async function update() {
  try {
    const answer = await fetch("status.json", { cache: "no-store" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    show(await answer.json());
    document.documentElement.dataset.shown = "yes";
  } catch (error) {
    at("agent").className = "bad";
    at("agent").textContent = `The agent does not answer (${error.message}); what follows may be old.`;
    document.documentElement.dataset.shown = "failed";
  }
}

update();
setInterval(update, 1000 * SECONDS);
