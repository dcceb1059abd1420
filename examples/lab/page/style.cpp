#include "style.hpp"

namespace rubato::lab::page {
namespace {

// Blue and vermilion, which the colour-blind tell apart, and grey.
constexpr const char* light = R"(--paper:#fcfcfa;--ink:#1c2227;--soft:#56606a;--rule:#dcdfe2;--fill:#eef0f1;
--good:#0a5ea8;--bad:#b3470a;--plain:#7b858e;--faint:#aab1b8;--band:#0a5ea8)";
constexpr const char* dark = R"(--paper:#14181c;--ink:#e6e9ec;--soft:#a5aeb7;--rule:#333a41;--fill:#20262c;
--good:#64b1ec;--bad:#f2955b;--plain:#8b959e;--faint:#5d666e;--band:#64b1ec)";

constexpr const char* drawn = R"(
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}
svg .tick{font-size:11px;fill:var(--soft)}
svg .value{font-variant-numeric:tabular-nums;fill:var(--soft)}
svg .title{font-size:16px;font-weight:600}
svg .paper{fill:var(--paper)}
svg .grid{stroke:var(--rule);stroke-width:1}
svg .axis{stroke:var(--soft);stroke-width:1}
svg .whisker{stroke:var(--ink);stroke-width:1.5}
svg .also{stroke:var(--ink);stroke-width:2.5}
svg .good{fill:var(--good)}
svg .bad{fill:var(--bad)}
svg .plain{fill:var(--plain)}
svg .faint{fill:var(--faint)}
svg .curve{fill:none;stroke:var(--good);stroke-width:2;stroke-linejoin:round}
svg .reference{fill:none;stroke:var(--soft);stroke-width:1.5;stroke-dasharray:4 3}
svg .band{fill:var(--band);fill-opacity:.18;stroke:none}
svg .arrow{stroke:var(--paper);stroke-width:2;paint-order:stroke}
svg .heat{fill:var(--band)}
)";

}  // namespace

std::string figure_style() {
  return std::string{"svg{"} + light + "}\n@media (prefers-color-scheme:dark){svg{" + dark + "}}" + drawn;
}

std::string page_style() {
  return std::string{":root{color-scheme:light;"} + light +
         "}\n@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;" + dark + "}}" + drawn + R"(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main,header,footer{max-width:60rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
footer{padding-top:1rem;padding-bottom:2rem;color:var(--soft);font-size:.875rem;border-top:1px solid var(--rule)}
h1,h2,h3{line-height:1.25;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:.25rem 0 .5rem}
h2{font-size:1.35rem;margin:0 0 .5rem}
h3{font-size:1.05rem;margin:0}
p{margin:.5rem 0}
p,li,dd,caption{overflow-wrap:anywhere}
article{border-top:1px solid var(--rule);margin-top:2rem;padding-top:1.5rem}
figure{margin:2.25rem 0}
figcaption p{margin:.2rem 0 .75rem;color:var(--soft);font-size:.875rem}
.lead{font-size:1.05rem}
.missing{color:var(--soft);border-left:3px solid var(--rule);padding-left:.75rem;font-size:.9rem}
.missing code{overflow-wrap:anywhere}
.panels{display:grid;grid-template-columns:minmax(0,1fr);gap:1.25rem 1.5rem}
.panel{min-width:0}
.panel>svg{display:block;overflow:visible}
.panel-title{margin:0 0 .25rem;font-size:.8rem;font-weight:600;overflow-wrap:anywhere}
.panel-title small{font-size:.75rem;font-weight:400;color:var(--soft);font-variant-numeric:tabular-nums}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:0 2.5rem}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.15rem 1rem;margin:1rem 0;font-size:.9rem}
dt{color:var(--soft)}
dd{margin:0}
.box{overflow-x:auto;max-width:100%;border:1px solid var(--rule);border-radius:4px}
table{border-collapse:collapse;font-size:.8125rem;font-variant-numeric:tabular-nums;white-space:nowrap}
caption{text-align:left;padding:.5rem .6rem;color:var(--soft);white-space:normal}
th,td{padding:.3rem .6rem;text-align:right;border-top:1px solid var(--rule);font-weight:400}
th:first-child{text-align:left}
thead th{color:var(--soft);vertical-align:bottom}
details{margin:.5rem 0;font-size:.9rem}
summary{cursor:pointer;color:var(--good);width:max-content;max-width:100%}
pre{margin:.5rem 0;padding:.6rem;font-size:.8rem;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--fill)}
code{font-size:.9em}
a{color:var(--good)}
nav ul,.verdicts{padding-left:1.2rem;margin:.5rem 0}
.swatch{display:inline-block;width:.8em;height:.8em;margin-right:.35em;border-radius:2px;vertical-align:-.05em}
.key{font-size:.8rem;color:var(--soft);margin:.2rem 0 .6rem}
.key span{margin-right:1rem;white-space:nowrap}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.25rem .5rem}
:focus-visible{outline:2px solid var(--good);outline-offset:2px}
@media (max-width:30rem){dl{grid-template-columns:minmax(0,1fr)}dd{margin-bottom:.4rem}h1{font-size:1.35rem}}
@media print{body{font-size:10pt}main,header,footer{max-width:none;padding:0}figure,.panel{break-inside:avoid}
h2,h3{break-after:avoid}.box{overflow:visible;border:0}table{font-size:7pt;white-space:normal}th,td{padding:.15rem .3rem}
.skip,nav,summary{display:none}article{break-before:page}article:first-of-type{break-before:auto}}
)";
}

}  // namespace rubato::lab::page
