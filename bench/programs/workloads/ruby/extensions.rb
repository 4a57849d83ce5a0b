# SPDX-License-Identifier: Apache-2.0
# Extensions at work: dates, JSON, Ruby's own parser, texts that are read and scanned.
require "date"
require "json"
require "ripper"
require "stringio"
require "strscan"

n = ARGV[0].to_i * 40
days = (1..n * 20).map { |i| Date.new(1990, 1, 1) + i * 37 }
puts days.map { |day| day.strftime("%Y-%m-%d %j") }.map { |text| Date.parse(text[0, 10]).cwday }.tally.sort.inspect
text = JSON.generate((1..n * 10).map { |i| { "id" => i, "name" => "entry #{i}", "values" => [i / 7.0, nil, true, "\u00e4\n"] } })
puts JSON.parse(text).sum { |entry| entry["values"][0] }.round(3)
code = "def f(a, b = 2)\n  a.map { |x| x + b if x.odd? }.compact\nend\n" * n
puts Ripper.sexp(code).flatten.size, Ripper.lex(code).size
io = StringIO.new(text)
puts io.each_char.count { |c| c == "," }
scanner = StringScanner.new(code)
words = Hash.new(0)
until scanner.eos?
  scanner.scan(/\w+/) ? words[scanner.matched] += 1 : scanner.getch
end
puts words.sort.inspect
