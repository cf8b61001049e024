"""The page's one style sheet: light and dark by the reader's own setting, no fonts and no files from anywhere."""

# Okabe and Ito's colours, which readers with any kind of colour vision can tell apart; lighter ones on dark paper.
STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --muted: #5c6670; --grid: #e3e7eb;
  --shade: #f0b429; --c0: #6b7280; --c1: #0072b2; --c2: #d55e00; --c3: #009e73; --c4: #a2559c; --c5: #8a6d00;
  --bad: #b42318; --good: #116f3b; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e6e9ec; --muted: #9aa5b1; --grid: #2b323a;
  --shade: #b98600; --c0: #a8b0ba; --c1: #56b4e9; --c2: #ff9a4d; --c3: #3ccf9f; --c4: #d99ad3; --c5: #e3c550;
  --bad: #ff8f85; --good: #6fd49b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 860px; padding: 24px 18px 60px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 44px 0 4px; }
h3 { font-size: 15px; margin: 26px 0 6px; } p { margin: 4px 0; } .muted, small { color: var(--muted); }
.answer { font-size: 18px; font-weight: 600; margin: 10px 0 2px; }
.badge { display: inline-block; padding: 1px 9px; border-radius: 9px; border: 1px solid currentColor;
  font-weight: 600; }
.above { color: var(--bad); } .below { color: var(--good); } .inside, .unknown { color: var(--muted); }
table { border-collapse: collapse; width: 100%; margin: 6px 0; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--grid); vertical-align: top; }
th { color: var(--muted); font-weight: 500; } ul { margin: 4px 0; padding-left: 20px; }
pre { overflow-x: auto; font-size: 12.5px; line-height: 1.45; }
svg { width: 100%; height: auto; display: block; font: 11.5px system-ui, sans-serif; }
.grid { stroke: var(--grid); } .tick { fill: var(--muted); } .shade { fill: var(--shade); }
.shade.alert { fill: var(--bad); fill-opacity: .14; }
.line { fill: none; stroke-width: 2; } .band { stroke: none; }
.rule { stroke: var(--muted); stroke-dasharray: 4 4; } .rule.equal { stroke: var(--ink); stroke-dasharray: none; }
.rule.now { stroke: var(--bad); }
.note { fill: var(--muted); } .note.now { fill: var(--bad); } .end { font-weight: 600; }
.line.load { stroke: var(--c1); stroke-width: 1.6; } .line.sweep { stroke: var(--muted); stroke-dasharray: 2 4; }
.dot.load { fill: var(--c1); } .dot.sweep { fill: var(--muted); }
.band.cross { fill: var(--shade); }
.line.moved { stroke-dasharray: 6 4; }
""" + "".join(
    f".line.c{n} {{ stroke: var(--c{n}); }} .band.c{n}, .dot.c{n}, .end.c{n} {{ fill: var(--c{n}); }}\n"
    for n in range(6)
)
