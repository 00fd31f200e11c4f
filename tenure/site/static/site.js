"use strict";
// Pages work without this file: it only refreshes parts of them, and shows passages next to the report.

// Fragments come from this server, which escapes every value in them.
async function refresh(part) {
  const response = await fetch(part.dataset.fragment, { headers: { accept: "text/html" } });
  const text = await response.text();
  if (text !== part.dataset.shown) {
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    part.innerHTML = text;
    part.querySelectorAll("details").forEach((one, n) => { one.open = open[n] ?? one.open; });
    part.dataset.shown = text;
  }
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
}

function enablePanel(panel) {
  let opener = null;
  const close = () => { panel.hidden = true; panel.replaceChildren(); opener?.focus(); };
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a.passage");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    opener = link;
    link.closest("[popover]:popover-open")?.hidePopover();
    const response = await fetch(link.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Close";
    button.addEventListener("click", close);
    panel.replaceChildren(button, ...page.querySelector("main").children);
    panel.hidden = false;
    panel.focus();
    panel.querySelector("mark")?.scrollIntoView({ block: "center" });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) close();
  });
}

for (const part of document.querySelectorAll("[data-events]")) follow(part);
for (const part of document.querySelectorAll("[data-every]")) poll(part);
const panel = document.getElementById("panel");
if (panel) enablePanel(panel);
