#!/usr/bin/env python3
"""Looks at the page of `rubato-lab report` as a browser shows it.

Without errors in the console and without any request, it shows the numbers of the JSON; at 1,280 and 400 pixels, light and
dark, the page does not scroll sideways, no label of a drawing leaves it or lies on another one, and text stands out from
what is behind it (WCAG 2.1, 4.5 to 1); every link, fold and box can be reached by the Tab key, and is then marked; on
paper it is light. The files of --svg are XML, and ask for nothing either.

usage: report_page.py LAB [--pictures DIR]     LAB: rubato-lab. Exit status 1 and one line per finding if something is
                                                wrong; 77 where there is no chromium.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from devtools import Browser, chromium

SIZES = ((1280, False), (1280, True), (400, False), (400, True))

# Labels of drawings that leave the page or lie on each other; a pixel may be shared.
LABELS = r"""
(() => {
  const wrong = [];
  for (const panel of document.querySelectorAll('.panel')) {
    const boxes = [...panel.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    boxes.forEach(([a, p], i) => {
      if (p.left < -0.5 || p.right > innerWidth + 0.5) wrong.push(`"${a}" leaves the page`);
      for (const [b, q] of boxes.slice(i + 1))
        if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 2 && q.top < p.bottom - 2)
          wrong.push(`"${a}" lies on "${b}" in ${panel.closest('figure').id}`);
    });
  }
  return wrong;
})()"""

# Text that does not stand out from what is behind it.
CONTRAST = r"""
(() => {
  const numbers = c => c.match(/[\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = numbers(c).slice(0, 3).map(v => v / 255).map(
      v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
      if (numbers(c)[3] !== 0) return c; } return 'rgb(255, 255, 255)'; };
  const wrong = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (['title', 'style'].includes(e.tagName.toLowerCase())) continue;
    const style = getComputedStyle(e), drawn = e instanceof SVGElement;
    const [a, b] = [light(drawn ? style.fill : style.color), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) wrong.add(`${e.tagName} .${e.getAttribute('class')}: ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  return [...wrong];
})()"""

FOCUS = r"""
(() => {
  const e = document.activeElement, style = getComputedStyle(e);
  if (e === document.body) return null;
  return [e.tagName + (e.id ? '#' + e.id : '') + ' ' + (e.getAttribute('aria-label') || e.textContent).trim().slice(0, 40),
          style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2];
})()"""

REACHABLE = "document.querySelectorAll('a[href], summary, [tabindex=\"0\"]').length"


def shown(value):
    """As rubato-lab writes a number."""
    size = abs(value)
    return f"{value:.{0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"


def make(lab, folder):
    """Results, a log, and the page of them."""
    scenario = {"name": "quick", "objective": {"kind": "quadratic"}, "cluster": {"cores": 4}, "workers": 10,
                "stragglers": {"kind": "static", "probability": 0.3, "mean": 2}}
    (folder / "quick.json").write_text(json.dumps(scenario))
    policies = "bsp:mean,bsp:sum,asp,ssp:1,ssp:3,knee,cap:4:fastest"

    def run(*words):
        subprocess.run([lab, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    run("compare", "--scenario", "quick.json", "--seeds", "6", "--quiet", "--policies", policies, "--json", "first.json",
        "--clairvoyant")
    run("compare", "--scenario", "quick.json", "--seeds", "2", "--quiet", "--policies", "ssp:3,bsp:sum", "--json",
        "second.json", "--log", "run.jsonl", "--set", "cluster.cores=2")
    run("report", "first.json", "second.json", "--log", "run.jsonl", "-o", "page.html", "--svg", "figures")
    return folder / "page.html", [json.loads((folder / name).read_text()) for name in ("first.json", "second.json")]


def check_events(browser, page):
    """What the browser told while it loaded."""
    for event in browser.events:
        method, about = event.get("method"), event.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            yield f"console: {json.dumps(about)[:300]}"
        if method == "Network.requestWillBeSent" and about["request"]["url"] != page:
            yield f"asks for {about['request']['url'][:200]}"


def check_numbers(browser, results):
    text = browser.value("document.body.textContent")
    for result in results:
        for row in result["rows"]:
            for name in ("time_iqm", "time_lo", "time_hi", "pushes", "updates", "staleness_mean", "staleness_p95"):
                if shown(row[name]) not in text:
                    yield f"{row['policy']}: {name} = {row[name]} is not shown"


def check_keyboard(browser):
    count, seen = browser.value(REACHABLE), []
    for _ in range(count):
        browser.press("Tab", 9)
        at = browser.value(FOCUS)
        if at is None:
            yield f"the Tab key leaves the page after {len(seen)} of {count}"
            return
        if not at[1]:
            yield f"no mark at {at[0]}"
        seen.append(at[0])
    if seen and not seen[0].endswith("To the findings"):
        yield f"the first stop is {seen[0]}, expected the link to the findings"


def check_page(browser, url, results, pictures):
    for width, dark in SIZES:
        where = f"{width} pixels, {'dark' if dark else 'light'}: "
        browser.load(url, width, dark)
        found = [*check_events(browser, url), *check_numbers(browser, results)]
        if (wide := browser.value("document.documentElement.scrollWidth")) > width:
            found.append(f"the page is {wide} pixels wide")
        found += browser.value(LABELS)
        if pictures:
            browser.picture(pictures / f"{width}-{'dark' if dark else 'light'}.png")
        browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
        if (wide := browser.value("document.documentElement.scrollWidth")) > width:
            found.append(f"unfolded the page is {wide} pixels wide")
        found += browser.value(CONTRAST)
        found += check_keyboard(browser)
        yield from (where + each for each in found)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    if (paper := browser.value("getComputedStyle(document.body).backgroundColor")) != "rgb(252, 252, 250)":
        yield f"on paper the page is {paper}, expected light"


def check_drawings(browser, folder):
    files = sorted(folder.glob("*.svg"))
    if len(files) < 15:
        yield f"{len(files)} figures, expected at least 15"
    for file in files:
        try:
            xml.etree.ElementTree.parse(file)
        except xml.etree.ElementTree.ParseError as error:
            yield f"{file.name}: {error}"
            continue
        browser.load(file.as_uri(), 800, False)
        yield from (f"{file.name}: {each}" for each in check_events(browser, file.as_uri()))
        for each in browser.value("[...document.querySelectorAll('text')].filter(t => { const b = t.getBoundingClientRect();"
                                  " return b.left < 0 || b.right > 760.5 }).map(t => t.textContent)"):
            yield f"{file.name}: \"{each}\" leaves the drawing"


def main(words):
    program = chromium()
    if program is None:
        print("found no chromium")
        return 77
    pictures = pathlib.Path(words[words.index("--pictures") + 1]) if "--pictures" in words else None
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        page, results = make(str(pathlib.Path(words[1]).resolve()), folder)
        browser = Browser(program)
        try:
            found = [*check_page(browser, page.as_uri(), results, pictures), *check_drawings(browser, folder / "figures")]
        finally:
            browser.close()
    for each in found:
        print(each)
    print(f"{len(SIZES)} sizes and colours, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv))
