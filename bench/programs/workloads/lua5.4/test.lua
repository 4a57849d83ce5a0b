-- Test: a serializer and its parser, trees, life, coroutines, bodies in space, a small virtual machine.
-- Nothing of it is in the training script. arg[1]: scale in percent.
local scale = tonumber(arg[1]) or 100

local seed = 987654321
local function draw(n)
	seed = seed ~ (seed << 13) & 0xffffffff
	seed = seed ~ (seed >> 17)
	seed = seed ~ (seed << 5) & 0xffffffff
	return seed % n
end

-- values <-> text
local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t" }
local function encode(value, out)
	local kind = type(value)
	if kind == "table" and #value > 0 then
		out[#out + 1] = "["
		for i, v in ipairs(value) do
			if i > 1 then out[#out + 1] = "," end
			encode(v, out)
		end
		out[#out + 1] = "]"
	elseif kind == "table" then
		local keys = {}
		for k in pairs(value) do keys[#keys + 1] = k end
		table.sort(keys)
		out[#out + 1] = "{"
		for i, k in ipairs(keys) do
			if i > 1 then out[#out + 1] = "," end
			encode(k, out)
			out[#out + 1] = ":"
			encode(value[k], out)
		end
		out[#out + 1] = "}"
	elseif kind == "string" then
		out[#out + 1] = '"' .. value:gsub('[%c"\\]', escapes) .. '"'
	else
		out[#out + 1] = tostring(value)
	end
	return out
end

local function decode(text)
	local at = 1
	local value
	local function skip() at = text:find("[^ \n\t]", at) or #text + 1 end
	local function list(close, item)
		local result = {}
		at = at + 1
		skip()
		while text:byte(at) ~= close do
			item(result)
			skip()
			if text:byte(at) == 44 then at = at + 1 end
			skip()
		end
		at = at + 1
		return result
	end
	local function str()
		local parts, from = {}, at + 1
		while true do
			local stop = text:find('["\\]', from)
			parts[#parts + 1] = text:sub(from, stop - 1)
			if text:byte(stop) == 34 then at = stop + 1 return table.concat(parts) end
			local c = text:sub(stop + 1, stop + 1)
			parts[#parts + 1] = c == "n" and "\n" or c == "t" and "\t" or c
			from = stop + 2
		end
	end
	function value()
		skip()
		local c = text:byte(at)
		if c == 123 then
			return list(125, function(t)
				local key = str()
				skip()
				at = at + 1
				t[key] = value()
			end)
		elseif c == 91 then
			return list(93, function(t) t[#t + 1] = value() end)
		elseif c == 34 then
			return str()
		end
		local word = text:match("^[%w.+-]+", at)
		at = at + #word
		if word == "true" then return true elseif word == "false" then return false end
		return tonumber(word)
	end
	return value()
end

local function document(depth)
	if depth == 0 then
		local kind = draw(4)
		if kind == 0 then return draw(100000) end
		if kind == 1 then return draw(1000) / 8 end
		if kind == 2 then return draw(2) == 0 end
		return 'text "' .. draw(999) .. '"\n' .. string.char(97 + draw(26)):rep(draw(9))
	end
	local t = {}
	for i = 1, 5 do
		if depth % 2 == 0 then t[i] = document(depth - 1) else t["key" .. i * 7] = document(depth - 1) end
	end
	return t
end

local function serializer()
	local text = table.concat(encode(document(5), {}))
	local again = table.concat(encode(decode(text), {}))
	return #text, text == again
end

-- garbage
local function tree(depth) if depth == 0 then return {} end return { tree(depth - 1), tree(depth - 1) } end
local function check(t) return t[1] and 1 + check(t[1]) + check(t[2]) or 1 end

-- cells as strings
local function life(steps)
	local rows = {}
	for y = 1, 40 do
		local row = {}
		for x = 1, 60 do row[x] = draw(3) == 0 and "o" or " " end
		rows[y] = table.concat(row)
	end
	for _ = 1, steps do
		local fresh = {}
		for y = 1, 40 do
			local above, here, below = rows[(y - 2) % 40 + 1], rows[y], rows[y % 40 + 1]
			local row = {}
			for x = 1, 60 do
				local n, l, r = 0, (x - 2) % 60 + 1, x % 60 + 1
				for _, line in ipairs({ above, here, below }) do
					if line:byte(l) == 111 then n = n + 1 end
					if line:byte(x) == 111 then n = n + 1 end
					if line:byte(r) == 111 then n = n + 1 end
				end
				local alive = here:byte(x) == 111
				row[x] = (n == 3 or alive and n == 4) and "o" or " "
			end
			fresh[y] = table.concat(row)
		end
		rows = fresh
	end
	return select(2, table.concat(rows):gsub("o", ""))
end

-- coroutines
local function primes(limit)
	local function numbers() return coroutine.wrap(function() for i = 2, limit do coroutine.yield(i) end end) end
	local function filter(p, source)
		return coroutine.wrap(function()
			for n in source do if n % p ~= 0 then coroutine.yield(n) end end
		end)
	end
	local source, last, n = numbers(), 0, 0
	while true do
		local p = source()
		if not p then return n, last end
		n, last = n + 1, p
		source = filter(p, source)
	end
end

-- floating point
local function bodies(steps)
	local list = {}
	for i = 1, 5 do
		list[i] = { x = i * 1.5, y = (i * i) % 3.7, z = i / 3, vx = 0.1 / i, vy = 0.02 * i, vz = 0.0, m = 1 / i }
	end
	for _ = 1, steps do
		for i = 1, 5 do
			local a = list[i]
			for j = i + 1, 5 do
				local b = list[j]
				local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
				local d2 = dx * dx + dy * dy + dz * dz + 0.01
				local f = 0.001 / (d2 * math.sqrt(d2))
				a.vx, a.vy, a.vz = a.vx - dx * b.m * f, a.vy - dy * b.m * f, a.vz - dz * b.m * f
				b.vx, b.vy, b.vz = b.vx + dx * a.m * f, b.vy + dy * a.m * f, b.vz + dz * a.m * f
			end
		end
		for i = 1, 5 do
			local a = list[i]
			a.x, a.y, a.z = a.x + 0.001 * a.vx, a.y + 0.001 * a.vy, a.z + 0.001 * a.vz
		end
	end
	return string.format("%.9f %.9f", list[1].x, list[5].vz)
end

-- an interpreter in the interpreter
local function machine(limit)
	local code = { "push", 0, "push", 1, "dup", "rot", "add", "count", "jump", 5 }
	local stack, pc, top, n = {}, 1, 0, 0
	local operations = {
		push = function() top = top + 1 stack[top] = code[pc + 1] pc = pc + 2 end,
		dup = function() top = top + 1 stack[top] = stack[top - 1] pc = pc + 1 end,
		rot = function()
			stack[top - 2], stack[top - 1], stack[top] = stack[top - 1], stack[top], stack[top - 2]
			pc = pc + 1
		end,
		add = function() top = top - 1 stack[top] = (stack[top] + stack[top + 1]) % 1000003 pc = pc + 1 end,
		count = function() n = n + 1 pc = n < limit and pc + 1 or #code + 1 end,
		jump = function() pc = code[pc + 1] end,
	}
	while pc <= #code do operations[code[pc]]() end
	return stack[top], n
end

for round = 1, math.max(1, scale * 3 // 5) do
	print("serializer", serializer())
	print("trees", check(tree(13)))
	print("life", life(9))
	print("primes", primes(400))
	print("bodies", bodies(2400))
	print("machine", machine(30000))
end
