-- Training: words, queens, objects, sorting, formatting. arg[1]: scale in percent.
local scale = tonumber(arg[1]) or 100

local state = 42
local function random(n)
	state = (state * 1103515245 + 12345) % 2147483648
	return state // 65536 % n + 1
end

local function words(n)
	local out, syllables = {}, { "ba", "ke", "li", "mo", "nu", "ra", "st", "ti", "vo", "we" }
	for i = 1, n do
		local parts = {}
		for j = 1, random(3) do parts[j] = syllables[random(#syllables)] end
		out[i] = table.concat(parts)
	end
	return table.concat(out, " ")
end

local function count(text)
	local seen, n = {}, 0
	for word in text:gmatch("%a+") do
		if not seen[word] then n = n + 1 end
		seen[word] = (seen[word] or 0) + 1
	end
	local list = {}
	for word, times in pairs(seen) do list[#list + 1] = { word = word, times = times } end
	table.sort(list, function(a, b)
		if a.times ~= b.times then return a.times > b.times end
		return a.word < b.word
	end)
	return n, list
end

local function queens(n)
	local solutions, columns, up, down = 0, {}, {}, {}
	local function place(row)
		if row > n then solutions = solutions + 1 return end
		for c = 1, n do
			if not columns[c] and not up[row + c] and not down[row - c + n] then
				columns[c], up[row + c], down[row - c + n] = true, true, true
				place(row + 1)
				columns[c], up[row + c], down[row - c + n] = nil, nil, nil
			end
		end
	end
	place(1)
	return solutions
end

local Account = {}
Account.__index = Account
function Account.new(owner) return setmetatable({ owner = owner, balance = 0, log = {} }, Account) end
function Account:deposit(v) self.balance = self.balance + v self.log[#self.log + 1] = v end
function Account:withdraw(v)
	if v > self.balance then error("too little: " .. self.owner) end
	self.balance = self.balance - v
end
local Savings = setmetatable({}, { __index = Account })
Savings.__index = Savings
function Savings:deposit(v) Account.deposit(self, v + v // 100) end

local function bank(n)
	local accounts, failed = {}, 0
	for i = 1, 50 do accounts[i] = setmetatable(Account.new("owner" .. i), i % 2 == 0 and Savings or Account) end
	for i = 1, n do
		local a = accounts[random(50)]
		if i % 3 == 0 then
			if not pcall(a.withdraw, a, random(500)) then failed = failed + 1 end
		else
			a:deposit(random(300))
		end
	end
	local sum = 0
	for _, a in ipairs(accounts) do sum = sum + a.balance end
	return sum, failed
end

local function matrix(n)
	local a, b, c = {}, {}, {}
	for i = 1, n do
		a[i], b[i], c[i] = {}, {}, {}
		for j = 1, n do a[i][j], b[i][j] = i + j / 7, i - j / 3 end
	end
	for i = 1, n do
		for j = 1, n do
			local s = 0.0
			for k = 1, n do s = s + a[i][k] * b[k][j] end
			c[i][j] = s
		end
	end
	return c[n][n]
end

local function numbers(n)
	local list, out = {}, {}
	for i = 1, n do list[i] = random(30000) end
	table.sort(list)
	for i = 1, n, 50 do out[#out + 1] = string.format("%05d:%x:%.3f", list[i], list[i], list[i] / 7) end
	return #table.concat(out, "\n")
end

local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end

for round = 1, math.max(1, scale * 7 // 5) do
	local n, list = count(words(9000))
	print("words", n, list[1].word, list[1].times, list[#list].word)
	print("queens", queens(7))
	print("bank", bank(25000))
	print("matrix", string.format("%.6f", matrix(36)))
	print("numbers", numbers(9000))
	print("fib", fib(21))
	print("replaced", #(words(3000):gsub("ba(%a)", "%1%1"):gsub("%s+", "_"):upper()))
end
