/* The planner: noise, errors and interval widths from public numbers, in the reader's browser.

The closed form of Gaussian differential privacy is that of tacit/privacy/gaussian_dp.py. Everything
about sensitivities, shares and words comes from tacit, as JSON in the page (docs/planner_facts.py).
tests/browser/test_planner.py compares all numbers with tacit's own. */
(() => {
  "use strict";

  const LAST_BIT = 2 ** -52, HUGE = 1e8, HALVINGS = 120;

  /* erfcx(x) = exp(x^2) erfc(x). Source of the rational approximations: Cody (1969), Rational
     Chebyshev approximations for the error function, Mathematics of Computation 23. */
  const NEAR = [
    [1.85777706184603153e-1, 3.1611237438705656, 1.13864154151050156e2, 3.77485237685302021e2,
      3.20937758913846947e3],
    [1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
      2.84423683343917062e3]];
  const MIDDLE = [
    [2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
      2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
      1.23033935479799725e3],
    [1, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
      1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
      1.23033935480374942e3]];
  const FAR = [
    [1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
      1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4],
    [1, 2.56852019228982242, 1.87295284992346047, 5.27905102951428412e-1, 6.05183413124413191e-2,
      2.33520497626869185e-3]];

  const horner = (numbers, x) => numbers.reduce((sum, each) => sum * x + each, 0);
  const ratio = ([above, below], x) => horner(above, x) / horner(below, x);

  /** exp(x^2), without the rounding of the square. */
  const exponential = (x) => {
    const near = Math.trunc(x * 16) / 16;
    return Math.exp(near * near) * Math.exp((x - near) * (x + near));
  };

  const erfcx = (x) => {
    const size = Math.abs(x);
    if (size <= 0.46875) return exponential(x) * (1 - x * ratio(NEAR, x * x));
    const square = 1 / (size * size);
    const right = size <= 4
      ? ratio(MIDDLE, size)
      : (1 / Math.sqrt(Math.PI) - square * ratio(FAR, square)) / size;
    return x > 0 ? right : 2 * exponential(x) - right;
  };

  /** Logarithm of the normal distribution function. */
  const logNormal = (x) => {
    const tail = Math.log(erfcx(Math.abs(x) / Math.SQRT2) / 2) - (x * x) / 2;
    return x < 0 ? tail : Math.log1p(-Math.exp(tail));
  };

  const logDelta = (mu, epsilon) => {
    const upper = mu / 2 - epsilon / mu, lower = -mu / 2 - epsilon / mu;
    if (mu > HUGE) {
      const above = Math.max((epsilon - (mu * mu) / 2) / mu - 8 * LAST_BIT * mu, 0);
      return -(above * above) / 2;
    }
    if (upper < 5) {
      const first = erfcx(-upper / Math.SQRT2);
      const tails = first - erfcx(-lower / Math.SQRT2) + 8 * LAST_BIT * first;
      return -(upper * upper) / 2 - Math.LN2 + Math.log(tails);
    }
    const whole = logNormal(upper);
    return whole + Math.log1p(-Math.exp(epsilon + logNormal(lower) - whole));
  };

  /** Bracket of the least value that passes a monotone test; it does at `high`. */
  const bisect = (holds, low, high) => {
    for (let halving = 0; halving < HALVINGS && high - low > LAST_BIT * high; halving += 1) {
      const middle = (low + high) / 2;
      if (holds(middle)) high = middle;
      else low = middle;
    }
    return [low, high];
  };

  const epsilonFromMu = (mu, delta) => {
    const most = Math.log(delta);
    if (mu === 0 || logDelta(mu, 0) <= most) return 0;
    const high = (mu * mu) / 2 + mu * (Math.sqrt(-2 * most) + 16 * LAST_BIT * mu);
    return bisect((epsilon) => logDelta(mu, epsilon) <= most, 0, high)[1];
  };

  const muFromEpsilon = (epsilon, delta) => {
    const most = Math.log(delta);
    let high = 1;
    while (logDelta(high, epsilon) <= most) high *= 2;
    return bisect((mu) => logDelta(mu, epsilon) > most, 0, high)[0];
  };

  const facts = JSON.parse(document.getElementById("planner-facts").textContent);
  const WAYS = {
    local: "Local noise", masked: "Secure aggregation", central: "Central noise",
  };

  /** Noise multiplier of every site, or of the curator, over that of local noise. */
  const told = (way, s) => (way === "masked" ? 1 / Math.sqrt(s.sites - s.colluders) : 1);

  /** Noise in a sum over all sites, over the curator's. */
  const excess = (way, s) => (way === "central" ? 1 : told(way, s) * Math.sqrt(s.sites));

  const planMean = (way, s, mu) => {
    const each = Math.floor(s.records / s.sites), moved = facts.mean[s.relation] * s.clip;
    const multiplier = (told(way, s) * Math.sqrt(s.rounds)) / mu;
    const scale = (multiplier * moved) / (way === "central" ? each * s.sites : each);
    const mean = way === "central" ? scale : scale / Math.sqrt(s.sites);
    return {
      multiplier,
      scale,
      mean,
      sum: mean * each * s.sites,
      length: mean * Math.sqrt(s.parameters),
      alone: epsilonFromMu(Math.sqrt(s.rounds) / multiplier, s.delta),
    };
  };

  /* docs/planner.md derives this forecast. */
  const planRegression = (way, s, mu) => {
    const family = facts.regression[s.family][s.relation], columns = s.parameters - 1;
    const [square, again] = facts.regression.kept[columns - 1];
    const [before, last] = facts.regression.shares[s.sums].slice(-2);
    const records = Math.floor(s.records / s.sites) * s.sites;
    const multiplier = told(way, s) / (mu * Math.sqrt(last));
    const pooled = excess(way, s) / (mu * Math.sqrt(before + last));
    const weight = family.logistic ? s.yes * (1 - s.yes) : 1;
    const information = (records * weight * family.weight * square) / s.vif;
    const sampling = family.ratio * information * (family.logistic ? 1 : again);
    const score = family.score[columns - 1] * pooled;
    const variance = (sampling + score * score) / (information * information);
    const blurred = family.information[columns - 1] * pooled;
    return {
      multiplier,
      scale: multiplier,
      score,
      width: Math.sqrt((variance * records * weight) / (3 * s.vif)),
      curvature: (blurred * Math.sqrt(2 * s.parameters)) / information,
      alone: epsilonFromMu(1 / (multiplier * Math.sqrt(last)), s.delta),
    };
  };

  /** All numbers of a plan, for each way to add noise. */
  const plan = (s) => {
    const mu = muFromEpsilon(s.epsilon, s.delta), made = { mu };
    for (const way of Object.keys(WAYS)) {
      made[way] = s.what === "mean" ? planMean(way, s, mu) : planRegression(way, s, mu);
    }
    return made;
  };

  /* Numbers in words, as tacit/privacy/digits.py and caution.py print them. */
  const grouped = (text) => text.replace(/\B(?=(\d{3})+$)/g, ",");

  /** At most four digits, rounded up. */
  const roundedUp = (value) => {
    const pattern = /^(\d)(?:\.(\d+))?e([+-]\d+)$/;
    const [, head, tail = "", power] = value.toExponential().match(pattern);
    const up = /[1-9]/.test(tail.slice(3)) ? 1 : 0;
    const digits = Number(head + tail.slice(0, 3).padEnd(3, "0")) + up;
    const rounded = Number(`${digits}e${Number(power) - 3}`);
    const [mantissa, exponent] = rounded.toExponential().split("e");
    if (rounded >= 1e4 && rounded < 1e12) return grouped(String(rounded));
    const plain = Number(exponent) >= -4 && Number(exponent) <= 3;
    return plain ? String(rounded) : `${mantissa}e${Number(exponent)}`;
  };

  const warning = (epsilon) => {
    if (epsilon < facts.warning.least) return "";
    const power = epsilon / Math.LN10;
    const factor = power < 9
      ? grouped(Math.exp(epsilon).toFixed(0))
      : `10^${grouped(String(Math.ceil(power)))}`;
    return facts.warning.text.replace("{factor}", factor);
  };

  /** What tacit would state, with local noise or secure aggregation. */
  const guarantee = (s) => {
    const releases = s.what === "mean" ? s.rounds : s.sums, number = grouped(String(releases));
    const few = ["masked 0", "masked 1"][s.colluders] ?? "masked";
    const stated = facts.words[`${s.what} ${s.relation} ${s.noise === "masked" ? few : "local"}`];
    const numbers = {
      sites: s.sites,
      honest: s.sites - s.colluders,
      coalition: s.colluders,
      sums: number,
      releases: releases === 1 ? "1 release" : `${number} releases`,
      epsilon: roundedUp(s.epsilon),
      delta: roundedUp(s.delta),
      warning: warning(s.epsilon),
    };
    const filled = (text) => text
      .replace(/\{(\w+)\}/g, (_, name) => numbers[name])
      .replace(/ {2,}/g, " ");
    return Object.fromEntries(Object.entries(stated).map(([name, text]) => [name, filled(text)]));
  };

  /** Why settings are impossible, by name. */
  const problems = (s) => {
    const found = {};
    const demand = (name, holds, otherwise) => {
      if (!holds) found[name] ??= otherwise;
    };
    const whole = (value, least) => Number.isInteger(value) && value >= least;
    const each = Math.floor(s.records / s.sites), most = facts.most_columns + 1;
    demand("sites", whole(s.sites, 2),
      "At least 2 sites: with one there is nobody to hide among, and no run between sites.");
    demand("records", whole(s.records, Math.max(1, s.sites || 1)),
      "A whole number, at least one record per site.");
    demand("colluders", whole(s.colluders, 0), "A whole number, 0 or more.");
    demand("colluders", !(s.sites >= 2 && s.colluders > s.sites - 2),
      `At most ${s.sites - 2} of ${s.sites} sites: masks hide honest sites among each other, so `
      + "two must be left. Against more, choose local noise and set this to 0.");
    demand("epsilon", s.epsilon > 0 && s.epsilon <= 1e6,
      "A positive number: a budget of 0 allows no release. At most 1,000,000, hardly a promise.");
    demand("delta", s.delta >= facts.least_delta && s.delta < 1,
      `A number from ${facts.least_delta} and below 1, such as 1e-6: no Gaussian noise reaches 0.`);
    demand("delta", !(each >= 2 && s.delta * each >= 1),
      `Not below one over the ${grouped(String(each))} records of a site: publishing one of them `
      + "whole, chosen at random, would satisfy it. Take far less than "
      + `${Number((1 / each).toPrecision(2))}.`);
    if (s.what === "mean") {
      demand("rounds", whole(s.rounds, 1), "A whole number, at least 1.");
      demand("parameters", whole(s.parameters, 1), "A whole number, at least 1.");
      demand("clip", s.clip > 0 && s.clip < Infinity,
        "A positive number: without a bound no noise protects.");
    } else {
      demand("parameters", whole(s.parameters, 2) && s.parameters <= most,
        `A whole number from 2 (one column and the intercept) to ${most}.`);
      demand("yes", s.family !== "binomial" || (s.yes > 0 && s.yes < 1),
        "Between 0 and 1: if all answers are the same, there is nothing to fit.");
      demand("vif", s.vif >= 1 && s.vif < Infinity,
        "1 or more: 1 if no column says anything about another.");
    }
    return found;
  };

  globalThis.tacitPlanner = {
    WAYS,
    likely: facts.regression.likely,
    unlikely: facts.regression.unlikely,
    epsilonFromMu,
    muFromEpsilon,
    plan,
    problems,
    guarantee,
    roundedUp,
    grouped,
    warning,
  };
})();
