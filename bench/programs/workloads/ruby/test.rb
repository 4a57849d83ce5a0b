# SPDX-License-Identifier: Apache-2.0
#
# test.rb PERCENT - a language of its own is lexed, parsed and run; documents, dates, packed records, a cache

Token = Struct.new(:kind, :text)

class Lexer
  PATTERNS = { number: /\G\d+(?:\.\d+)?/, name: /\G[A-Za-z_]\w*/, string: /\G"(?:[^"\\]|\\.)*"/,
               operator: %r{\G(?:[-+*/<>=!]=?|[(){},;])}, space: /\G\s+/ }.freeze

  def initialize(text) = @text = text

  def each
    return to_enum(:each) unless block_given?

    at = 0
    while at < @text.length
      kind, = PATTERNS.find { |_, pattern| @text.match?(pattern, at) && @text.match(pattern, at) }
      raise SyntaxError, "at #{at}" unless kind

      match = PATTERNS[kind].match(@text, at)
      at = match.end(0)
      yield Token.new(kind, match[0]) unless kind == :space
    end
  end
end

module Node
  Number = Struct.new(:value) { def run(_) = value }
  Name = Struct.new(:name) { def run(scope) = scope.fetch(name) }
  Binary = Struct.new(:op, :left, :right) do
    def run(scope)
      a = left.run(scope)
      b = right.run(scope)
      case op
      when "+" then a + b
      when "-" then a - b
      when "*" then a * b
      when "/" then b.zero? ? 0 : a / b
      when "<" then a < b
      when "==" then a == b
      end
    end
  end
  Assign = Struct.new(:name, :value) { def run(scope) = scope[name] = value.run(scope) }
  While = Struct.new(:condition, :body) do
    def run(scope)
      body.each { |s| s.run(scope) } while condition.run(scope)
    end
  end
end

class Parser
  LEVELS = [%w[< ==], %w[+ -], %w[* /]].freeze

  def initialize(tokens)
    @tokens = tokens
    @at = 0
  end

  def peek = @tokens[@at]&.text

  def take(text = nil)
    token = @tokens[@at] or raise SyntaxError, "end"
    raise SyntaxError, "#{text} expected, not #{token.text}" if text && token.text != text

    @at += 1
    token
  end

  def program
    list = []
    list << statement while @at < @tokens.size && peek != "}"
    list
  end

  def statement
    if peek == "while"
      take
      condition = expression
      take("{")
      body = program
      take("}")
      return Node::While.new(condition, body)
    end
    name = take.text
    take("=")
    value = expression
    take(";")
    Node::Assign.new(name, value)
  end

  def expression(level = 0)
    return primary if level == LEVELS.size

    left = expression(level + 1)
    left = Node::Binary.new(take.text, left, expression(level + 1)) while LEVELS[level].include?(peek)
    left
  end

  def primary
    token = take
    case token.kind
    when :number then Node::Number.new(token.text.include?(".") ? token.text.to_f : token.text.to_i)
    when :name then Node::Name.new(token.text)
    else
      value = expression
      take(")")
      value
    end
  end
end

SOURCE = <<~TEXT
  i = 0; sum = 0; x = 1.5;
  while i < LIMIT { sum = sum + i * (i - 1) / 3; x = x * 1.01 + i; i = i + 1; j = i; while 3 < j { j = j - 7; } }
TEXT

class Cache
  Entry = Struct.new(:key, :value, :before, :after)

  def initialize(limit)
    @limit = limit
    @table = {}
    @ring = Entry.new
    @ring.before = @ring.after = @ring
  end

  def fetch(key)
    entry = @table[key]
    if entry
      unlink(entry)
    else
      entry = @table[key] = Entry.new(key, yield(key))
      drop if @table.size > @limit
    end
    link(entry)
    entry.value
  end

  private

  def unlink(entry)
    entry.before.after = entry.after
    entry.after.before = entry.before
  end

  def link(entry)
    entry.before = @ring
    entry.after = @ring.after
    @ring.after.before = entry
    @ring.after = entry
  end

  def drop
    last = @ring.before
    unlink(last)
    @table.delete(last.key)
  end
end

class Document
  def initialize = @tree = Hash.new { |hash, key| hash[key] = Hash.new(&hash.default_proc) }

  def put(path, value)
    *parents, last = path.split("/")
    parents.inject(@tree) { |tree, name| tree[name.to_sym] }[last.to_sym] = value
  end

  def dump(value = @tree, depth = 0)
    case value
    when Hash then value.map { |k, v| "#{"  " * depth}#{k}:\n#{dump(v, depth + 1)}" }.join
    when Array then "#{"  " * depth}[#{value.map(&:to_s).join(", ")}]\n"
    when Float then format("%s%.3f\n", "  " * depth, value)
    else "#{"  " * depth}#{value.inspect}\n"
    end
  end

  def method_missing(name, *) = @tree.key?(name) ? @tree[name] : super
  def respond_to_missing?(name, all = false) = @tree.key?(name) || super
end

def records(n)
  packed = Array.new(n) { |i| [i, i * 37 % 251, "r#{i}", i / 3.0].pack("NCA6d") }.join
  packed.unpack("NCA6d" * n).each_slice(4).partition { |_, b, *| b.odd? }.map { |half| half.sum { |r| r[3] } }
end

def collatz(limit)
  seen = { 1 => 1 }
  longest = (1..limit).max_by do |start|
    path = []
    n = start
    until seen.key?(n)
      path.push(n)
      n = n.even? ? n >> 1 : 3 * n + 1
    end
    length = seen[n]
    length += 1 and seen[path.pop] = length until path.empty?
    seen[start]
  end
  [longest, seen.size]
end

def caught(n)
  n.times.count do |i|
    catch(:found) do
      begin
        throw :found, true if (i % 3).zero?
        raise KeyError, "no #{i}" if (i % 3) == 1
        [].fetch(i)
      rescue KeyError, IndexError => e
        e.message.size > 5
      ensure
        i.to_s
      end
    end
  end
end

def evaluated(n)
  n.times.sum do |i|
    eval("class C#{i % 7}; def m(x) = x.map { |e| e.to_s.rjust(4, '0') }.join('|').tr('0', '_'); end; C#{i % 7}.new.m([#{i}, 5]).size")
  end
end

def dates(n)
  n.times.map { |i| Time.at(i * 86_413 + 1_600_000_000).utc }.group_by(&:wday).transform_values do |list|
    list.map { |t| t.strftime("%Y-%m-%d %H:%M") }.max
  end
end

rounds = ARGV[0].to_i * 30
cache = Cache.new(60)
rounds.times do |round|
  tokens = Lexer.new(SOURCE.sub("LIMIT", (20 + round % 5).to_s)).each.to_a
  program = Parser.new(tokens).program
  scope = {}
  4.times { program.each { |s| s.run(scope) } }
  document = Document.new
  60.times { |i| document.put("a#{i % 7}/b#{i % 3}/c#{i}", [i, i / 7.0, "t#{i}", [i, :"s#{i}"]][i % 4]) }
  text = document.dump
  hits = 300.times.sum { |i| cache.fetch("key-#{(i * i + round) % 97}") { |k| k.sum.odd? ? k.size : k.upcase.size } }
  values = [scope["sum"], hits, text.size, text.each_line.grep(/t\d/).size, document.a1.size]
  values << records(60).map(&:round) << collatz(120) << caught(60) << evaluated(4) << dates(30).size
  values << text.bytes.each_cons(2).count { |a, b| a > b } if (round % 4).zero?
  values << (1..40).inject(:*).digits.sum << 12.34r.rationalize(1/100r) << Complex(1, 2)**3
  list = Array.new(150) { |i| (i * 7919 + round) % 1009 }
  values << list.sort { |a, b| b <=> a }.each_slice(7).map(&:first).bsearch_index { |x| x < 500 }
  values << list.to_h { |x| [x, x.to_s(2).count("1")] }.min_by(3) { |k, v| [v, k] }
  puts values.join(" ") if (round % 5).zero?
end
