"use strict";
// Draws the view in the element "view". Texts of the user become text nodes and nothing else; there is no innerHTML here.
(() => {
  const view = JSON.parse(document.getElementById("view").textContent);
  const details = view.details || {};
  const time = view.timeline || null;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const listeners = [];
  let now = time ? time.start || 0 : 0;

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity)) if (child !== undefined && child !== null && child !== false) element.append(child);
    return element;
  }
  const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const colour = (number) => (number || 0) % 10;
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
  const figure = (value) => String(+value.toPrecision(value >= 1000 ? 6 : 4));

  // Details: what a click or Enter on an element shows.
  const aside = make("aside", { "aria-live": "polite", "aria-label": "Details" });
  let chosen = null;
  function choose(key, element) {
    document.querySelectorAll(".chosen, .dim").forEach((other) => other.classList.remove("chosen", "dim"));
    if (chosen === key && element) [key, element] = ["", null];
    chosen = key;
    const detail = details[key];
    aside.classList.toggle("open", Boolean(detail));
    if (!detail) {
      aside.replaceChildren(...[
        make("h2", {}, "Details"),
        Object.keys(details).length && make("p", { class: "hint" }, "Click on anything in a picture, or go there with ", make("kbd", {}, "Tab"), " and the arrow keys and press ", make("kbd", {}, "Enter"), "."),
        time && make("p", { class: "hint" }, make("kbd", {}, "Space"), " plays, ", make("kbd", {}, ","), " and ", make("kbd", {}, "."), " step through time."),
        make("p", { class: "hint" }, make("kbd", {}, "d"), " switches between light and dark, ", make("kbd", {}, "Esc"), " clears."),
      ].filter(Boolean));
      return;
    }
    aside.replaceChildren(
      make("h2", {}, detail.title),
      make("dl", {}, (detail.rows || []).map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
      ...(detail.lines || []).map((line) => make("p", {}, line)),
    );
    const all = [...document.querySelectorAll("[data-detail]")].filter((item) => item.dataset.detail === key);
    for (const item of all) item.classList.add("chosen");
    const ids = new Set(all.map((one) => one.dataset.id));
    if (element && element.ownerSVGElement && all.length)
      for (const item of element.ownerSVGElement.querySelectorAll(".edge.item, .chip.item")) {
        const near = item.dataset.detail === key || (item.dataset.ends || "").split(" ").some((end) => ids.has(end));
        if (!near) item.classList.add("dim");
      }
  }

  // One stop of the Tab key per drawing; arrow keys go on to the next element in that direction.
  function item(group, detail, name) {
    if (!detail) return group;
    group.classList.add("item");
    if (!group.querySelector("title")) group.append(draw("title", {}, name));
    fill(group, { "data-detail": detail, tabindex: -1, role: "button", "aria-label": name, onclick: (event) => { event.stopPropagation(); choose(detail, group); } }, []);
    return group;
  }
  function steer(root) {
    const items = () => [...root.querySelectorAll(".item")].filter((one) => one.getClientRects().length);
    const first = () => { const all = items(); if (all.length && !all.some((one) => one.getAttribute("tabindex") === "0")) all[0].setAttribute("tabindex", 0); };
    root.addEventListener("keydown", (event) => {
      const own = event.target.closest(".item");
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!own) return;
      if (event.key === "Enter") { choose(own.dataset.detail, own); event.preventDefault(); }
      if (!step) return;
      event.preventDefault();
      const middle = (one) => { const place = one.getBoundingClientRect(); return [place.x + place.width / 2, place.y + place.height / 2]; };
      const [x, y] = middle(own);
      let best = null, least = Infinity;
      for (const other of items()) {
        const [u, v] = middle(other);
        const along = (u - x) * step[0] + (v - y) * step[1], across = Math.abs((u - x) * step[1]) + Math.abs((v - y) * step[0]);
        if (other !== own && along > 1 && along + 2.5 * across < least) [best, least] = [other, along + 2.5 * across];
      }
      if (best) { own.setAttribute("tabindex", -1); best.setAttribute("tabindex", 0); best.focus(); }
    });
    first();
    return first;
  }

  function legend(entries) {
    if (!entries || !entries.length) return null;
    const sign = { line: () => draw("line", { x1: 1, x2: 23, y1: 6, y2: 6, stroke: "var(--stream)", "stroke-width": 4 }), hot: () => draw("line", { x1: 1, x2: 23, y1: 6, y2: 6, stroke: "var(--hot)", "stroke-width": 4 }),
      dashed: () => draw("line", { x1: 1, x2: 23, y1: 6, y2: 6, stroke: "var(--stream)", "stroke-width": 3, "stroke-dasharray": "5 4" }), chip: () => draw("rect", { x: 1, y: 0, width: 22, height: 12, rx: 4, class: "f0" }),
      other: () => draw("rect", { x: 1, y: 1, width: 22, height: 10, rx: 4, fill: "none", stroke: "var(--ink)", "stroke-dasharray": "4 3" }), new: () => draw("rect", { x: 2, y: 1, width: 20, height: 10, rx: 4, fill: "none", stroke: "var(--good)", "stroke-width": 1.8 }), gone: () => draw("rect", { x: 2, y: 1, width: 20, height: 10, rx: 4, fill: "none", stroke: "var(--bad)", "stroke-width": 1.8, "stroke-dasharray": "4 3" }),
      marked: () => draw("rect", { x: 2, y: 1, width: 20, height: 10, class: "f7 marked" }) };
    return make("ul", { class: "legend" }, entries.map(([key, words]) => make("li", {}, draw("svg", { width: 24, height: 12, "aria-hidden": "true" }, sign[key] ? sign[key]() : draw("rect", { x: 1, y: 0, width: 22, height: 12, rx: 3, class: `f${key.slice(1)}` })), words)));
  }

  // Graphs: boxes with chips in them and edges between both.
  const ease = (share) => share * share * (3 - 2 * share);

  function graph(panel) {
    const states = panel.states, root = draw("svg", { role: "group", "aria-label": panel.title });
    const layers = Object.fromEntries((panel.under ? ["links", "edges", "boxes", "labels", "chips", "tokens"] : ["links", "boxes", "edges", "chips", "labels", "tokens"]).map((name) => [name, draw("g", { class: name })]));
    root.append(...Object.values(layers));
    let wanted = panel.arrangements[0], arrangement = wanted, scale = 1, zoomed = false, shown = -1, frame = 0;
    const place = new Map(), boxes = new Map(), chips = new Map();
    const scroll = make("div", { class: "scroll graph" }, root);
    const number = new Map(panel.boxes.map((box, index) => [box.id, index]));

    const fitting = () => (scroll.clientWidth < 560 && wanted.narrow) || wanted;
    const changing = [];
    function fillBar(bar, box, share) {
      fill(bar, { class: `fill${share > 1.000001 ? " over" : ""}`, width: (box.width - 20) * clamp(share || 0, 0, 1) }, []);
    }
    function drawBoxes(state) {
      const holding = new Set((state.chips || []).filter((chip) => chip.change !== "other").map((chip) => chip.box));
      changing.forEach(({ box, group, note, bar }, index) => {
        if (state.shares) fillBar(bar, box, state.shares[index]);
        if (state.notes) note.textContent = state.notes[index];
        group.classList.toggle("muted", holding.size ? !holding.has(box.id) : Boolean(box.muted));
      });
    }
    for (const box of panel.boxes) {
      const group = draw("g", { class: `box${box.muted ? " muted" : ""}${box.hot ? " hot" : ""}`, "data-id": box.id });
      group.append(draw("rect", { class: "frame", width: box.width, height: box.height, rx: 8 }));
      if (box.colour !== undefined && box.colour !== null) group.append(draw("rect", { width: 6, height: box.height - 16, x: 7, y: 8, rx: 3, class: `f${colour(box.colour)}` }));
      const left = box.colour !== undefined && box.colour !== null ? 20 : 10;
      group.append(draw("text", { x: left, y: 18, "font-size": 12.5, "font-weight": 600 }, box.label));
      const note = draw("text", { x: left, y: 33, "font-size": 11, class: "quiet" }, box.note || ""), bar = draw("rect", { x: 10, y: 37, height: 3, rx: 1.5 });
      group.append(note);
      if (box.share !== undefined && box.share !== null) group.append(draw("rect", { class: "track", x: 10, y: 37, width: box.width - 20, height: 3, rx: 1.5 }), bar);
      changing.push({ box, group, note, bar });
      fillBar(bar, box, box.share);
      const detail = details[box.detail];
      layers.boxes.append(item(group, box.detail, detail ? detail.title : box.label));
      boxes.set(box.id, group);
    }

    function edgeShape(edge, kind, route) {
      if (!route) return null;
      const detail = details[edge.detail];
      const group = draw("g", { class: `edge ${kind}${edge.hot ? " hot" : ""}${edge.dashed ? " dashed" : ""}`, "data-ends": `${edge.source} ${edge.target}` });
      const tint = edge.colour !== undefined && edge.colour !== null ? ` k${colour(edge.colour)}` : "";
      group.append(draw("path", { class: `line${tint}`, d: route.path, "stroke-width": edge.width }), draw("path", { class: "hit", d: route.path, "stroke-width": 14 }));
      if (edge.label && route.label) (kind === "link" ? group : layers.labels).append(draw("text", { x: route.label[0], y: route.label[1], "text-anchor": "middle", class: edge.hot ? "hot" : "" }, edge.label));
      return item(group, edge.detail, detail ? detail.title : "");
    }
    function drawEdges(index) {
      const edges = states[index].edges || [], others = states[index].other || [], routes = (arrangement.streams || [])[index] || [];
      root.classList.toggle("dense", edges.length > 120);
      layers.labels.replaceChildren();
      layers.edges.replaceChildren(...[...edges, ...others].map((edge, at) => edgeShape(edge, at < edges.length ? "stream" : "other", routes[at])).filter(Boolean));
    }
    function putBoxes() {
      arrangement = fitting();
      panel.boxes.forEach((box, index) => {
        const [x, y] = arrangement.places[index];
        boxes.get(box.id).setAttribute("transform", `translate(${x},${y})`);
      });
      root.classList.toggle("bare", !arrangement.labels);
      root.setAttribute("viewBox", `0 0 ${arrangement.width} ${arrangement.height}`);
      layers.links.replaceChildren(...(panel.links || []).map((link, index) => edgeShape(link, "link", (arrangement.links || [])[index])).filter(Boolean));
    }
    function target(chip) {
      const [x, y] = arrangement.places[number.get(chip.box)];
      return { x: x + chip.x, y: y + chip.y, w: chip.width, h: 20 };
    }
    function chipShape(chip) {
      const group = draw("g", { class: `chip fresh ${chip.change || ""}${chip.hot ? " hot" : ""}`, "data-id": chip.id });
      group.append(draw("rect", { class: `f${colour(chip.colour)}`, width: chip.width, height: 20, rx: 6 }), draw("text", { x: 8, y: 14 }, chip.label));
      const detail = details[chip.detail];
      return item(group, chip.detail, detail ? detail.title : chip.label);
    }
    function show(index, moving) {
      const state = states[index], begin = performance.now(), from = new Map();
      shown = index;
      drawBoxes(state);
      cancelAnimationFrame(frame);
      for (const [id, one] of chips) from.set(id, place.get(id));
      layers.chips.replaceChildren();
      chips.clear();
      for (const chip of state.chips || []) {
        const shape = chipShape(chip);
        if (from.has(chip.id)) shape.classList.remove("fresh");
        chips.set(chip.id, { chip, shape, to: target(chip) });
        layers.chips.append(shape);
      }
      const put = (share) => {
        for (const [id, one] of chips) {
          const old = from.get(id), to = one.to;
          const spot = old && share < 1 ? { ...to, x: old.x + (to.x - old.x) * share, y: old.y + (to.y - old.y) * share } : to;
          place.set(id, spot);
          one.shape.setAttribute("transform", `translate(${spot.x},${spot.y})`);
        }
      };
      const tick = (at) => {
        const share = ease(clamp((at - begin) / 320, 0, 1));
        put(share);
        if (share < 1) { layers.edges.replaceChildren(); layers.labels.replaceChildren(); frame = requestAnimationFrame(tick); } else { drawEdges(index); first(); }
      };
      if (moving && !still.matches && from.size && chips.size) frame = requestAnimationFrame(tick);
      else { put(1); drawEdges(index); }
    }
    const way = (token) => arrangement.tokens[`${token.source} ${token.target}`];
    function drawTokens() {
      layers.tokens.replaceChildren(...(panel.tokens || []).filter((token) => now > token.begin && now < token.end && way(token)).map((token) => {
        const line = draw("path", { d: way(token), class: `k${colour(token.colour)}`, "stroke-width": 2, "stroke-dasharray": "2 4", fill: "none" });
        const { x, y } = line.getPointAtLength((line.getTotalLength() * (now - token.begin)) / (token.end - token.begin));
        return draw("g", {}, line, draw("circle", { class: `token f${colour(token.colour)}`, cx: x, cy: y, r: 7 }, draw("title", {}, token.label)), draw("text", { x: x + 11, y: y - 7, "font-size": 11, class: "haloed" }, token.label));
      }));
    }
    const stateAt = () => { let index = 0; while (index + 1 < states.length && states[index + 1].time <= now + 1e-9) index += 1; return index; };
    function update() {
      const index = stateAt();
      if (index !== shown) show(index, shown >= 0);
      drawTokens();
    }
    function zoom(factor) {
      zoomed = factor > 0;
      const room = scroll.clientWidth || 800, fits = room / arrangement.width;
      scale = factor === 0 ? clamp(fits, room < 560 ? 0 : 0.62, 1.15) : factor < 0 ? fits : clamp(scale * factor, 0.1, 4);
      root.setAttribute("width", Math.round(arrangement.width * scale));
      root.setAttribute("height", Math.round(arrangement.height * scale));
    }
    function arrange(moving) { putBoxes(); show(stateAt(), moving); drawTokens(); zoom(0); }
    const buttons = [];
    panel.arrangements.forEach((one, index) => {
      if (panel.arrangements.length < 2) return;
      const button = make("button", { type: "button", "aria-pressed": String(index === 0), onclick: () => {
        wanted = one; arrange(true);
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      } }, one.name);
      buttons.push(button);
    });
    const overlay = panel.overlay && make("button", { type: "button", "aria-pressed": "false", onclick: () => {
      const on = root.classList.toggle("overlaid");
      overlay.setAttribute("aria-pressed", String(on));
    } }, panel.overlay);
    const zooms = [["−", 1 / 1.25, "smaller"], ["+", 1.25, "larger"], ["fit", -1, "whole picture"]].map(([sign, factor, words]) => make("button", { type: "button", title: words, "aria-label": words, onclick: () => zoom(factor) }, sign));
    let drag = null;
    scroll.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && !event.target.closest(".item")) drag = [event.clientX, event.clientY, scroll.scrollLeft, scroll.scrollTop]; });
    addEventListener("pointermove", (event) => { if (drag) { scroll.scrollLeft = drag[2] + drag[0] - event.clientX; scroll.scrollTop = drag[3] + drag[1] - event.clientY; } });
    addEventListener("pointerup", () => { drag = null; });
    scroll.addEventListener("wheel", (event) => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15); } }, { passive: false });
    root.addEventListener("click", () => choose("", null));
    let first = () => {};
    const resize = () => { if (fitting() !== arrangement) arrange(false); else if (!zoomed) zoom(0); };
    return { tools: [...buttons, overlay, ...zooms].filter(Boolean), body: [scroll, legend(panel.legend)], ready: () => { putBoxes(); zoom(0); update(); first = steer(root); }, update, resize };
  }

  // Axes of drawings whose horizontal axis is time or tasks.
  function ticks(end, count) {
    const raw = end / count, power = 10 ** Math.floor(Math.log10(raw || 1)), step = power * ([1, 2, 5].find((factor) => factor * power >= raw) || 10);
    const found = [];
    for (let value = 0; value <= end * 1.0000001; value += step) found.push(+value.toPrecision(10));
    return found;
  }
  function clock(value, unit, end) {
    if (unit !== "s" || end < 600) return figure(value);
    const hours = Math.floor(value / 3600), minutes = Math.round((value - 3600 * hours) / 60);
    return end < 7200 ? figure(value / 60) : `${hours}:${String(minutes).padStart(2, "0")}`;
  }
  const clockUnit = (unit, end) => (unit !== "s" || end < 600 ? unit : end < 7200 ? "min" : "h");
  function timeTicks(end, unit, count) {
    if (unit !== "s" || end < 600) return ticks(end, count);
    const step = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400].find((one) => end / one <= count + 1) || Math.ceil(end / count / 86400) * 86400;
    const found = [];
    for (let value = 0; value <= end + 1e-6; value += step) found.push(value);
    return found;
  }

  function rows(panel) {
    const root = draw("svg", { role: "group", "aria-label": panel.title }), scroll = make("div", { class: "scroll tall" }, root);
    const high = panel.rows.length <= 4 ? 44 : panel.rows.length <= 30 ? 24 : 16;
    let cursor = null, marks = [], scaled = null, first = () => {};
    function build() {
      const width = Math.max(280, scroll.clientWidth - 2), left = clamp(Math.max(...panel.rows.map((row) => row.label.length), 4) * 6.6 + 14, 50, Math.min(230, width * 0.36));
      const x = (value) => left + ((width - left - 14) * value) / (panel.end || 1), height = panel.rows.length * (high + 4) + 30;
      const fits = (text, room) => (text.length * 6.3 <= room ? text : room < 34 ? "" : text.slice(0, Math.max(1, Math.floor(room / 6.3) - 1)) + "…");
      scaled = x; marks = [];
      const whole = Number.isInteger(panel.end) && panel.unit !== "s";
      const lines = (panel.unit === "" ? [] : timeTicks(panel.end, panel.unit, Math.max(2, Math.floor(width / 110)))).filter((value) => !whole || Number.isInteger(value));
      root.replaceChildren(draw("g", { class: "axis" }, lines.map((value, index) => [draw("line", { x1: x(value), x2: x(value), y1: 0, y2: height - 26 }), draw("text", { x: x(value), y: height - 10, "text-anchor": x(value) > width - 40 ? "end" : index ? "middle" : "start" }, clock(value, panel.unit, panel.end) + (index === lines.length - 1 ? ` ${clockUnit(panel.unit, panel.end)}` : ""))])));
      panel.rows.forEach((row, index) => {
        const top = index * (high + 4) + 2, label = draw("text", { class: "rowlabel", x: 2, y: top + high / 2 + 4 }, fits(row.label, left + 6), draw("title", {}, row.label));
        root.append(label);
        if (row.at !== undefined && row.at !== null) marks.push([row.at, label]);
        for (const bar of row.bars || []) {
          const wide = Math.max(1, x(bar.end) - x(bar.begin) - (panel.timed ? 0 : 1)), tall = Math.max(2, high * (bar.height === undefined ? 1 : bar.height)), detail = details[bar.detail];
          const group = draw("g", {}, draw("rect", { class: `stretch f${colour(bar.colour)}${bar.marked ? " marked" : ""}`, x: x(bar.begin), y: top + high - tall, width: wide, height: tall, rx: Math.min(3, wide / 3) }));
          const text = bar.label ? fits(bar.label, wide - 8) : "";
          if (text && tall > 12) group.append(draw("text", { class: "bartext", x: x(bar.begin) + 5, y: top + high - tall / 2 + 4 }, text));
          if (bar.label) group.append(draw("title", {}, detail ? `${detail.title}: ${bar.label}` : bar.label));
          root.append(item(group, bar.detail, detail ? detail.title : bar.label));
        }
      });
      if (panel.timed) root.append((cursor = draw("line", { class: "cursor", y1: 0, y2: height - 26 })));
      fill(root, { width, height, viewBox: `0 0 ${width} ${height}` }, []);
      first();
      update();
    }
    function update() {
      if (cursor && scaled) { cursor.setAttribute("x1", scaled(now)); cursor.setAttribute("x2", scaled(now)); }
      for (const [at, label] of marks) label.setAttribute("font-weight", Math.abs(at - now) < 1e-9 ? 700 : 400);
    }
    return { tools: [], body: [scroll, legend(panel.legend)], ready: () => { build(); first = steer(root); }, resize: build, update };
  }

  function series(panel) {
    const root = draw("svg", { role: "img", "aria-label": `${panel.title}: ${panel.lines.map((line) => line.name).join(", ")}` }), holder = make("div", { class: "scroll" }, root), height = 230;
    const said = panel.lines.map((line) => make("span", {}));
    let cursor = null, scaled = null;
    const valueAt = (line) => {
      let low = 0, high = line.points.length - 1;
      while (low < high) { const middle = Math.ceil((low + high) / 2); if (line.points[middle][0] <= now + 1e-9) low = middle; else high = middle - 1; }
      return line.points.length ? line.points[low][1] : 0;
    };
    function build() {
      const width = Math.max(280, holder.clientWidth - 2), most = Math.max(0, ...panel.lines.flatMap((line) => line.points.map((point) => point[1]))) || 1, marks = ticks(most, 4);
      if (marks[marks.length - 1] < most) marks.push(+(marks[marks.length - 1] + (marks[1] || most)).toPrecision(10));
      const top = marks[marks.length - 1];
      const left = 12 + 7 * Math.max(...marks.map((value) => figure(value).length)), x = (value) => left + ((width - left - 18) * value) / (panel.end || 1), y = (value) => height - 26 - ((height - 42) * value) / top;
      scaled = x;
      const across = timeTicks(panel.end, panel.time_unit, Math.max(2, Math.floor(width / 110)));
      root.replaceChildren(
        draw("g", { class: "axis" }, marks.map((value) => [draw("line", { x1: left, x2: width - 18, y1: y(value), y2: y(value) }), draw("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, figure(value))]),
          across.map((value, index) => draw("text", { x: x(value), y: height - 8, "text-anchor": x(value) > width - 50 ? "end" : index ? "middle" : "start" }, clock(value, panel.time_unit, panel.end) + (index === across.length - 1 ? ` ${clockUnit(panel.time_unit, panel.end)}` : "")))),
        ...panel.lines.map((line) => {
          let path = "", before = null;
          for (const [at, value] of line.points) { if (value === null) { path += before === null ? "" : `H${x(at)}`; before = null; continue; } path += before === null ? `M${x(at)},${y(value)}` : line.step === false ? `L${x(at)},${y(value)}` : `H${x(at)}V${y(value)}`; before = value; }
          path += line.step === false || before === null ? "" : `H${x(panel.end)}`;
          const area = line.filled && line.points.length ? draw("path", { d: `${path}V${y(0)}H${x(line.points[0][0])}Z`, class: `f${colour(line.colour)}`, "fill-opacity": 0.3 }) : [];
          return [area, draw("path", { d: path, class: `k${colour(line.colour)}`, fill: "none", "stroke-width": 2, "stroke-dasharray": line.dashed && "7 6" })].flat();
        }).flat(),
      );
      if (panel.timed !== false && time) root.append((cursor = draw("line", { class: "cursor", y1: 6, y2: height - 26 })));
      fill(root, { width, height, viewBox: `0 0 ${width} ${height}` }, []);
      update();
    }
    function update() {
      if (!scaled) return;
      if (cursor) { cursor.setAttribute("x1", scaled(now)); cursor.setAttribute("x2", scaled(now)); }
      panel.lines.forEach((line, index) => { said[index].textContent = cursor ? `${line.name}: ${valueAt(line) === null ? "infinite" : figure(valueAt(line))}` : line.name; });
    }
    const key = make("ul", { class: "legend" }, panel.lines.map((line, index) => make("li", {}, draw("svg", { width: 24, height: 12, "aria-hidden": "true" }, draw("line", { x1: 1, x2: 23, y1: 6, y2: 6, class: `k${colour(line.colour)}`, "stroke-width": 3, "stroke-dasharray": line.dashed && "6 5" })), said[index])));
    return { tools: [make("span", { class: "note" }, panel.unit)], body: [holder, key], ready: build, resize: build, update };
  }

  function limits(panel) {
    const priced = panel.limits.some((limit) => limit.price), last = priced ? "number" : "number wide";
    const cells = [["limit", ""], ["used", ""], ["value", "number wide"], ["slack", "number"], [priced ? "price" : "", last]].map(([words, kind]) => make("span", { class: `head-cell ${kind}` }, words));
    for (const limit of panel.limits) {
      const used = limit.used === null || limit.used === undefined ? 9 : limit.used;
      const meter = draw("svg", { class: "meter", viewBox: "0 0 100 12", preserveAspectRatio: "none", role: "img", "aria-label": `${(100 * used).toFixed(1)} % used` }, draw("rect", { class: "track", width: 100, height: 8, y: 2 }), draw("rect", { class: `fill${used > 1.000001 ? " over" : ""}`, width: 100 * clamp(used, 0, 1), height: 8, y: 2 }));
      cells.push(make("span", {}, limit.name), make("span", { title: `${(100 * used).toFixed(1)} % used` }, meter), make("span", { class: "number wide" }, `${limit.value} of ${limit.limit}`), make("span", { class: "number" }, limit.slack), make("span", { class: last }, limit.price || ""));
    }
    return { tools: [], body: [make("div", { class: priced ? "gauges priced" : "gauges" }, cells)] };
  }

  function table(panel) {
    const right = new Set(panel.right || []), side = (index) => (right.has(index) ? { class: "right" } : {});
    const head = make("thead", {}, make("tr", {}, panel.columns.map((name, index) => make("th", { scope: "col", ...side(index) }, name))));
    const body = make("tbody", {}, panel.rows.map((row) => make("tr", {}, row.map((cell, index) => make("td", { "data-column": panel.columns[index], ...side(index) }, cell)))));
    return { tools: [], body: [make("div", { class: "scroll tall" }, make("table", panel.columns.length > 3 ? { class: "stacked" } : {}, head, body))] };
  }

  // The page.
  const kinds = { graph, rows, series, limits, table };
  const panels = make("div", { class: "panels" }), side = make("div", { class: "side" }, aside);
  const drawn = [...view.panels, ...(view.side || [])].map((panel, index) => {
    const beside = index >= view.panels.length;
    const parts = kinds[panel.type](panel);
    const narrow = panel.type === "series" || (panel.type === "table" && panel.columns.length <= 4);
    (beside ? side : panels).append(make("section", { class: `panel ${panel.type}${narrow && !beside ? " half" : ""}`, "aria-label": panel.title }, make("div", { class: "bar" }, make("h2", {}, panel.title), make("div", { class: "tools" }, parts.tools)), panel.note ? make("p", { class: "note" }, panel.note) : null, parts.body));
    return parts;
  });
  const halves = panels.querySelectorAll(".half");
  for (let index = 0; index < halves.length; index += 1) {
    const pair = halves[index].nextElementSibling;
    if (pair && pair.classList.contains("half")) index += 1; else halves[index].classList.remove("half");
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const themeButton = make("button", { type: "button", onclick: () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark") });
  function theme(name) {
    document.documentElement.dataset.theme = name;
    themeButton.textContent = name === "dark" ? "light" : "dark";
    themeButton.setAttribute("aria-label", `switch to ${themeButton.textContent} colours`);
  }
  theme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));

  const facts = make("dl", { class: "facts" },
    make("div", {}, make("dt", {}, view.verdict.meaning), make("dd", {}, make("span", { class: `badge ${view.verdict.tone}` }, view.verdict.text))),
    view.certificate && make("div", {}, make("dt", {}, "certificate"), make("dd", {}, make("span", { class: `badge ${view.certificate.tone}`, title: view.certificate.hint }, view.certificate.text))),
    view.facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  const said = [...(view.clashes.length ? [make("li", { class: "bad" }, "These cannot hold together:")] : []), ...view.clashes.map((clash) => make("li", { class: "bad" }, clash)), ...(view.lines || []).map((line) => make("li", {}, line)), ...view.notes.map((note) => make("li", {}, note))];
  const header = make("header", {}, make("div", { class: "head" }, make("div", {}, make("h1", {}, view.title), make("p", { class: "kind" }, `problem of kind ${view.kind}`)), make("div", { class: "tools" }, themeButton, make("button", { type: "button", onclick: () => print() }, "print"))), facts, said.length ? make("ul", { class: "said" }, said) : null);

  let playing = 0, slider = null, output = null, play = null;
  function words() {
    const stop = (time.stops || []).filter(([at]) => at <= now + 1e-9).pop();
    return stop ? stop[1] : `${clock(now, time.unit, time.end)} ${clockUnit(time.unit, time.end)} of ${clock(time.end, time.unit, time.end)}`;
  }
  function go(to) {
    now = clamp(to, 0, time.end);
    slider.value = now;
    output.textContent = words();
    slider.setAttribute("aria-valuetext", words());
    for (const parts of drawn) if (parts.update) parts.update();
  }
  function pause() { cancelAnimationFrame(playing); playing = 0; play.textContent = "play"; }
  function start() {
    const from = now >= time.end - 1e-9 ? 0 : now, begin = performance.now(), length = 1000 * (time.seconds || 8);
    play.textContent = "pause";
    const tick = (at) => {
      const reached = from + ((at - begin) / length) * time.end;
      const stops = (time.stops || []).map(([value]) => value).filter((value) => value <= reached + 1e-9);
      go(stops.length ? stops[stops.length - 1] : reached);
      if (reached < time.end) playing = requestAnimationFrame(tick); else pause();
    };
    playing = requestAnimationFrame(tick);
  }
  function step(direction) {
    const stops = (time.stops || []).map(([at]) => at);
    pause();
    if (!stops.length) return go(now + (direction * time.end) / 50);
    const at = stops.filter((value) => value <= now + 1e-9).length - 1;
    return go(stops[clamp(at + direction, 0, stops.length - 1)]);
  }
  if (time) {
    const whole = (time.stops || []).length && time.stops.every(([at]) => Number.isInteger(at));
    slider = make("input", { type: "range", min: 0, max: time.end, step: whole ? 1 : time.end / 1000, "aria-label": time.title, oninput: () => { if (playing) pause(); go(Number(slider.value)); } });
    output = make("output", {});
    play = make("button", { type: "button", onclick: () => (playing ? pause() : start()) }, "play");
  }
  document.body.replaceChildren(...[header, time && make("div", { class: "time", role: "group", "aria-label": "Time" }, make("b", {}, time.title), play, slider, output), make("main", {}, panels, side)].filter(Boolean));
  choose("", null);
  for (const parts of drawn) if (parts.ready) parts.ready();
  if (time) go(now);

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "d") theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    else if (event.key === "Escape") choose("", null);
    else if (time && event.key === " " && event.target.tagName !== "BUTTON") { event.preventDefault(); if (playing) pause(); else start(); }
    else if (time && (event.key === "," || event.key === ".")) step(event.key === "," ? -1 : 1);
  });
  let waiting = 0;
  const resize = () => { for (const parts of drawn) if (parts.resize) parts.resize(); };
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(resize, 120); });
  addEventListener("beforeprint", () => { theme("light"); });
  document.documentElement.dataset.drawn = "yes";
})();
