"use strict";
// Pages work without this file: it only refreshes parts of them, and shows passages next to the report.

// Replaces only what differs, so that a reader keeps the place, the focus, the selection and what is typed: the value
// of a field that a person has changed does not follow its text. An element with an id is found by it.
function patch(shown, fresh) {
  let place = shown.firstChild;
  for (const node of [...fresh.childNodes]) {
    const same = node.id && [...shown.children].find((one) => one.id === node.id);
    while (same && place !== same) place = drop(place);
    if (!place || (place.id && !same)) {
      shown.insertBefore(node, place);
      continue;
    }
    const next = place.nextSibling;
    const isAlike = node.hasChildNodes() && place.cloneNode().isEqualNode(node.cloneNode());
    if (isAlike) patch(place, node);
    else if (!place.isEqualNode(node)) place.replaceWith(node);
    place = next;
  }
  while (place) place = drop(place);
}

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

// Fragments come from this server, which escapes every value in them.
async function refresh(part) {
  const response = await fetch(part.dataset.fragment, { headers: { accept: "text/html" } });
  const fresh = document.createElement("template");
  fresh.innerHTML = await response.text();
  const known = [...part.querySelectorAll("details")];
  for (const one of fresh.content.querySelectorAll("details")) {
    const title = one.querySelector("summary").textContent;
    one.open = known.find((old) => old.querySelector("summary").textContent === title)?.open ?? one.open;
  }
  const [draft, next] = [part, fresh.content].map((one) => one.querySelector(".draft"));
  if (draft && next?.hidden) next.replaceWith(draft.cloneNode(true)); // stays while it is reviewed
  const pane = draft?.querySelector(".pane");
  const follows = pane && pane.scrollHeight - pane.scrollTop - pane.clientHeight < 20;
  patch(part, fresh.content);
  if (follows) part.querySelector(".pane")?.scrollTo(0, pane.scrollHeight);
}

async function poll(part) {
  const seconds = Number(part.dataset.every);
  try {
    await refresh(part);
  } catch {
    // The server is away for a moment; the next round tries again.
  }
  const ended = part.dataset.until && part.querySelector(`[data-state="${part.dataset.until}"]`);
  if (seconds > 0 && !ended) setTimeout(poll, seconds * 1000, part);
}

function follow(part) {
  const events = new EventSource(part.dataset.events);
  events.addEventListener("state", () => refresh(part));
  events.addEventListener("end", () => { events.close(); location.reload(); });
  const pane = part.querySelector(".pane");
  pane?.scrollTo(0, pane.scrollHeight);
}

function enablePanel(panel) {
  let opener = null;
  const close = () => { panel.hidden = true; panel.replaceChildren(); opener?.focus(); };
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a.passage");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const quote = link.closest("[popover]");
    // The link is hidden with its quote, so the focus returns to the mark that opens both.
    opener = quote ? document.querySelector(`[popovertarget="${quote.id}"]`) : link;
    if (quote?.matches(":popover-open")) quote.hidePopover();
    const response = await fetch(link.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Close";
    button.addEventListener("click", close);
    panel.replaceChildren(button, ...page.querySelector("main").children);
    panel.hidden = false;
    button.focus();
    panel.querySelector("mark")?.scrollIntoView({ block: "center" });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) close();
  });
}

function addCopyButton(code) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  });
  code.parentElement.before(button);
}

// Files that are chosen or dropped are listed and sent with their form, which stays as it is if a field is wrong.
const chosen = new Map();

async function listFiles(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    return [[entry.fullPath.slice(1), file]];
  }
  const found = [];
  const reader = entry.createReader();
  for (;;) {
    const part = await new Promise((done, fail) => reader.readEntries(done, fail)); // a hundred at a time
    if (!part.length) return found;
    for (const one of part) found.push(...await listFiles(one));
  }
}

function describeSize(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function showFiles(zone) {
  const files = [...chosen];
  const total = files.reduce((sum, [, file]) => sum + file.size, 0);
  const limits = zone.dataset;
  const large = files.find(([, file]) => file.size > limits.maxFile);
  const problem = large ? `${large[0]} is larger than ${describeSize(Number(limits.maxFile))}: remove it`
    : files.length > limits.maxFiles ? `At most ${limits.maxFiles} files are sent at once: remove some`
      : total > limits.maxTotal ? `${describeSize(total)} are more than ${describeSize(Number(limits.maxTotal))}: remove some` : "";
  const rows = files.slice(0, 20).map(([name, file]) => {
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = "Remove";
    button.setAttribute("aria-label", `Remove ${name}`);
    button.addEventListener("click", () => { chosen.delete(name); showFiles(zone); zone.querySelector("input").focus(); });
    row.append(`${name}, ${describeSize(file.size)} `, button);
    return row;
  });
  if (files.length) {
    const sum = document.createElement("li");
    sum.textContent = `${files.length} ${files.length === 1 ? "file" : "files"}, ${describeSize(total)}`;
    rows.push(sum);
  }
  zone.querySelector(".chosen").replaceChildren(...rows);
  showFault(zone, problem);
  return !problem;
}

function showFault(zone, problem) {
  zone.querySelector(".fault")?.remove();
  if (!problem) return;
  const fault = document.createElement("span");
  fault.className = "fault";
  fault.setAttribute("role", "alert");
  fault.textContent = problem;
  zone.querySelector(".chosen").after(fault);
}

function enableUpload(form) {
  const zone = form.querySelector("[data-drop]");
  zone.addEventListener("change", (event) => {
    if (event.target.type !== "file") return;
    for (const file of event.target.files) chosen.set(file.webkitRelativePath || file.name, file);
    event.target.value = "";
    showFiles(zone);
  });
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", async (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    for (const entry of entries) for (const [name, file] of await listFiles(entry)) chosen.set(name, file);
    showFiles(zone);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (showFiles(zone)) send(form, zone);
  });
  showFiles(zone);
}

// With a request of its own, since a form cannot send dropped files; its answer is the next page or the form again.
function send(form, zone) {
  const data = new FormData(form);
  data.delete("files");
  for (const [name, file] of chosen) data.append("files", file, name);
  const request = new XMLHttpRequest();
  const [bar, button] = [form.querySelector("progress"), form.querySelector("button:not([type])")];
  const end = (problem) => {
    bar.hidden = true;
    button.disabled = false;
    showFault(zone, problem);
  };
  bar.hidden = !chosen.size;
  bar.removeAttribute("value");
  button.disabled = true;
  request.upload.addEventListener("progress", (event) => { bar.max = event.total; bar.value = event.loaded; });
  request.addEventListener("error", () => end("The files could not be sent: check the connection and send them again."));
  request.addEventListener("load", () => {
    if (request.status === 200) {
      location.href = request.responseURL;
      return;
    }
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const fresh = page.querySelector("form[data-upload]");
    if (!fresh) {
      end(page.body.textContent.trim());
      return;
    }
    if (!page.getElementById("files-fault")) chosen.clear(); // they are in a corpus, which the form names
    form.replaceWith(fresh);
    enable(fresh);
    const fault = fresh.querySelector(".fault");
    (fault?.closest("p, fieldset")?.querySelector("[aria-invalid]") ?? fresh.querySelector("button:not([type])")).focus();
    fault?.scrollIntoView({ block: "center" });
  });
  request.open("POST", form.action);
  request.send(data);
}

function enable(root) {
  for (const part of root.querySelectorAll("[data-every]")) poll(part);
  for (const link of root.querySelectorAll("[data-fill]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const field = document.getElementById(link.dataset.fill);
      field.value = new URL(link.href).searchParams.get(link.dataset.fill);
      field.focus();
    });
  }
  if (root.matches?.("[data-upload]")) enableUpload(root);
  for (const form of root.querySelectorAll("[data-upload]")) enableUpload(form);
}

// Shows what becomes of a form beside it, without leaving the page; an error stays with what was typed.
function sendInPlace(form) {
  const part = document.getElementById(form.dataset.shows);
  const alert = form.querySelector('[role="alert"]');
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    alert.hidden = true;
    const waiting = document.createElement("p");
    waiting.setAttribute("role", "status");
    waiting.textContent = `${form.elements.question.value} …`;
    part.append(waiting);
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(form.action, { method: "POST", body, redirect: "manual" });
    if (response.type === "opaqueredirect") {
      form.reset();
      part.dataset.every = 1;
      poll(part);
      return;
    }
    waiting.remove();
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    alert.textContent = page.querySelector('[role="alert"]').textContent;
    alert.hidden = false;
  });
}

function enableCopy(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const response = await fetch(button.dataset.copy);
    await navigator.clipboard.writeText(await response.text());
    button.textContent = "Copied";
  });
}

for (const part of document.querySelectorAll("[data-events]")) follow(part);
enable(document);
for (const form of document.querySelectorAll("[data-shows]")) sendInPlace(form);
for (const button of document.querySelectorAll("[data-copy]")) enableCopy(button);
const panel = document.getElementById("panel");
if (panel) enablePanel(panel);
for (const code of document.querySelectorAll("pre > code")) addCopyButton(code);
