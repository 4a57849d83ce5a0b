/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * page_style.h - how the page looks (private to the page)
 *
 * w0 to w6 are heat, from none to most (light backgrounds: darker is hotter; dark ones: brighter is). h0 to h7 are hues of programs, s0 to s11 of causes, in the order of enum culprit: green for work, blue for what the code
 * itself makes wait, warm for caches, purple for guesses that were wrong, gray for what is not known. Dark text lies on all
 * of them.
 */

// clang-format off: a style sheet
static const char page_style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#5b636d;--line:#dfe3e8;--card:#f6f8fa;--bar:#2f6fb5;"
	"--w1:#f6e3b0;--w2:#f3c87a;--w3:#ec9f55;--w4:#df6f3f;--w5:#c23a2b;--w6:#86131d}\n"
	"@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e7eb;--dim:#98a2ad;--line:#2c3238;--card:#1c2026;"
	"--bar:#6ea8e6;--w1:#57301f;--w2:#7d3b20;--w3:#ab4a22;--w4:#d96a2b;--w5:#f2a04a;--w6:#ffe6a0}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.45 system-ui,sans-serif}\n"
	"main,footer{max-width:62rem;margin:0 auto;padding:0 1rem}\n"
	"h1{font-size:1.6rem;margin:1.2rem 0 .2rem}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}\n"
	"p{margin:.3rem 0 .8rem}small,.dim,footer,summary small{color:var(--dim)}\n"
	"footer{margin-top:2.5rem;padding-bottom:2rem;font-size:.85rem}\n"
	".name{overflow-wrap:anywhere}.num{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
	".tiles{display:flex;flex-wrap:wrap;gap:.6rem;margin:.8rem 0}\n"
	".tiles div{flex:1 1 8rem;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.5rem .8rem}\n"
	".tiles b{display:block;font-size:1.25rem}\n"
	".bar{display:block;height:5px;border-radius:3px;background:var(--bar);margin:.25rem 0 .1rem;min-width:1px}\n"
	"table{border-collapse:collapse;width:100%}\n"
	"th{color:var(--dim);font-weight:600;font-size:.85rem;text-align:left;vertical-align:bottom}th.num{text-align:right;white-space:normal}td.name:first-child{min-width:7rem}\n"
	"td,th{padding:.3rem .5rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}\n"
	"td small{display:block;overflow-wrap:anywhere}\n"
	"details{border-bottom:1px solid var(--line)}\n"
	"summary{cursor:pointer;padding:.35rem 0;display:grid;grid-template-columns:1fr auto;gap:0 .8rem}\n"
	"summary b::before{content:\"\\25b8\\a0\";color:var(--dim)}details[open]>summary b::before{content:\"\\25be\\a0\"}\n"
	"summary small,summary .bar{grid-column:1/-1}summary small{overflow-wrap:anywhere}\n"
	"details table{margin:.2rem 0 .8rem 1rem;width:calc(100% - 1rem)}\n"
	".picture{display:flex;width:100%;margin:.6rem 0;border-radius:8px;overflow:hidden;border:1px solid var(--line)}\n"
	".picture>div{min-width:0;border-right:1px solid var(--bg)}\n"
	".picture span{display:block;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;font-size:.78rem;color:#14171b;"
	"padding:.12rem .25rem}\n"
	".picture .top{height:2.1rem;line-height:1.8rem;font-weight:600}\n"
	".parts{display:flex;flex-direction:column;height:13rem}\n"
	".parts span{min-height:0;border-top:1px solid rgba(255,255,255,.45);line-height:1.05rem;padding-top:0;padding-bottom:0}\n"
	".parts span:nth-child(even){filter:brightness(1.08)}.parts span:last-child{filter:brightness(1.16)}\n"
	".stack{display:flex;height:14px;border-radius:4px;overflow:hidden;background:var(--line);margin:.3rem 0}\n"
	".stack i{display:block;min-width:0}\n"
	".may{background:repeating-linear-gradient(45deg,#9aa4ae 0 4px,#c5ccd3 4px 8px)}\n"
	".causes{font-size:.88rem;margin:0 0 .9rem;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.1rem .9rem}\n"
	".causes i{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.35em}\n"
	".heat{display:flex;height:18px;border-radius:3px;overflow:hidden;margin:0 0 .6rem}.heat i{flex:1 1 0;min-width:0}\n"
	".heat+p{margin-top:0}p+.heat{margin-top:-.5rem}\n"
	".w0{background:var(--line)}.w1{background:var(--w1)}.w2{background:var(--w2)}.w3{background:var(--w3)}\n"
	".w4{background:var(--w4)}.w5{background:var(--w5)}.w6{background:var(--w6)}\n"
	".flame{border:1px solid var(--line);border-radius:8px;overflow:hidden;padding:2px;margin:.6rem 0}\n"
	".fr{display:flex;min-width:0}.fl{min-width:0;overflow:hidden}.fr>i{min-width:0}\n"
	".fl>a{display:block;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;font-size:.75rem;line-height:1.15rem;height:1.2rem;"
	"color:#14171b;text-decoration:none;text-indent:.2rem;border-right:1px solid var(--bg);border-bottom:1px solid var(--bg)}\n"
	".fl>a:hover,.fl:target>a{filter:brightness(1.15);outline:1px solid var(--fg);outline-offset:-1px}\n"
	".fr:has(>.fl:target,>.fl :target)>:not(:target):not(:has(:target)){display:none}\n"
	".fl:has(:target)>a{opacity:.55}.fl{scroll-margin-top:40vh}\n"
	".tag{border:1px solid var(--line);border-radius:4px;padding:0 .35em;font-size:.85rem;white-space:nowrap}\n"
	".h0{background:#7fb2e5}.h1{background:#f2b36b}.h2{background:#8fcf9a}.h3{background:#e6939b}\n"
	".h4{background:#b9a3e3}.h5{background:#e6d36f}.h6{background:#84d1cf}.h7{background:#e3a8d4}.hx{background:#b8bfc7}\n"
	".s0{background:#69b578}.s1{background:#8cb4e0}.s2{background:#4f86c6}.s3{background:#e07a5f}.s4{background:#e9a178}\n"
	".s5{background:#d9a441}.s6{background:#c8553d}.s7{background:#a37fcf}.s8{background:#c9b458}.s9{background:#6b7fa3}\n"
	".s10{background:#b0566f}.s11{background:#a9b1ba}\n"
	"@media (max-width:36rem){.wide{display:none}td,th{padding-right:.3rem}h1{font-size:1.35rem}"
	".parts{height:16rem}}\n";
// clang-format on
