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
for (const part of document.querySelectorAll("[data-every]")) poll(part);
for (const form of document.querySelectorAll("[data-shows]")) sendInPlace(form);
for (const button of document.querySelectorAll("[data-copy]")) enableCopy(button);
const panel = document.getElementById("panel");
if (panel) enablePanel(panel);
for (const code of document.querySelectorAll("pre > code")) addCopyButton(code);
