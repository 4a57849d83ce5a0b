# SPDX-License-Identifier: Apache-2.0
#
# train.rb PERCENT - a shop's day: orders are read, indexed, priced and reported; generations of objects come and go

require "set"

class Rng
  def initialize(seed) = @state = seed

  def next(n)
    @state = (@state * 1103515245 + 12345) & 0x7fffffff
    (@state >> 8) % n
  end
end

Item = Struct.new(:name, :price, :tags)
NAMES = %w[lamp chair table shelf carpet mirror clock vase frame candle basket curtain]
TOWNS = %w[Ulm Bonn Kiel Trier Mainz Fulda Jena Gera]

class Order
  attr_reader :number, :town, :items
  attr_accessor :paid

  include Comparable

  def initialize(number, town)
    @number = number
    @town = town
    @items = []
    @paid = false
  end

  def <<(item)
    @items << item
    self
  end

  def total = @items.sum(&:price)

  def <=>(other) = total <=> other.total

  def to_s = format("%05d %-6s %8.2f %s", @number, @town, total / 100.0, @items.map(&:name).join(","))
end

class Shop
  def initialize(rng)
    @rng = rng
    @stock = Hash.new(100)
    @orders = []
    @index = {}
  end

  def read(line)
    fields = line.split(";")
    order = Order.new(fields[0].to_i, fields[1])
    fields[2..].each do |field|
      name, price = field.split("=")
      order << Item.new(name, price.to_i, name.chars.uniq.first(3).map(&:to_sym))
      @stock[name] -= 1
    end
    @orders << order
    (@index[order.town] ||= []) << order
    order
  rescue ArgumentError, NoMethodError => e
    warn e.message
    nil
  end

  def report
    @index.sort_by { |town, orders| [-orders.size, town] }.map do |town, orders|
      best = orders.max
      names = orders.flat_map(&:items).group_by(&:name).transform_values(&:size)
      top = names.sort { |a, b| a[1] == b[1] ? a[0] <=> b[0] : b[1] <=> a[1] }.first(3)
      "#{town}: #{orders.size} orders, best #{best}, top #{top.inspect}"
    end
  end

  def forget(n) = @orders.shift(n).each { |o| @index[o.town].delete(o) }
end

def lines(rng, n)
  Array.new(n) do |i|
    parts = Array.new(1 + rng.next(5)) { "#{NAMES[rng.next(NAMES.size)]}=#{100 + rng.next(9000)}" }
    "#{i};#{TOWNS[rng.next(TOWNS.size)]};#{parts.join(";")}"
  end
end

def words(text)
  count = Hash.new(0)
  text.scan(/[a-z]+/i) { |w| count[w.downcase] += 1 }
  count.select { |w, n| n > 2 && w.length > 2 }.keys.sort
end

def template(text, values)
  text.gsub(/\{(\w+)\}/) { values.fetch($1.to_sym) { "?" }.to_s }
end

def queens(n, row = 0, columns = 0, left = 0, right = 0)
  return 1 if row == n

  found = 0
  n.times do |c|
    bit = 1 << c
    next if columns & bit != 0 || left & (1 << (row + c)) != 0 || right & (1 << (row - c + n)) != 0

    found += queens(n, row + 1, columns | bit, left | (1 << (row + c)), right | (1 << (row - c + n)))
  end
  found
end

def parsed(rng, n)
  source = Array.new(n) do |i|
    "def f#{i}(a, b = #{rng.next(9)})\n  if a > b then [a, b].max else a.to_s + \"x#{i}\" end\nend"
  end
  RubyVM::InstructionSequence.compile(source.join("\n")).eval
  n.times.sum { |i| send(:"f#{i}", i, 3).to_s.size }
end

def fibers(n)
  numbers = Enumerator.new { |y| 2.step { |i| y << i } }
  primes = []
  n.times do
    i = numbers.next
    primes << i if primes.none? { |p| (i % p).zero? }
  end
  primes.size
end

rounds = ARGV[0].to_i * 6
rng = Rng.new(7)
rounds.times do |round|
  shop = Shop.new(rng)
  text = lines(rng, 350)
  text.each { |line| shop.read(line) }
  report = shop.report
  shop.forget(100)
  puts report.first if (round % 5).zero?
  all = words(text.join(" "))
  page = template("Dear {name}, {n} orders of {what}; {nothing}." * 20, name: "Ann", n: all.size, what: all.first)
  set = Set.new(all) | page.split.to_set
  puts [set.size, page.sum, queens(5), parsed(rng, 12), fibers(70)].join(" ") if (round % 5).zero?
  matrix = Array.new(12) { |i| Array.new(12) { |j| (i * j + round) % 7 } }
  product = matrix.map { |row| matrix.transpose.map { |column| row.zip(column).sum { |a, b| a * b } } }
  puts product.flatten.minmax.inspect, (3**200 + round).to_s.reverse[0, 20], shop.report.size if (round % 5).zero?
end
