-- SPDX-License-Identifier: Apache-2.0
-- A walk through the interpreter's rarely used parts; the output is the same in every run.
print(_VERSION, #arg, arg[1], arg[2], ...)
local function try(f, ...) print(pcall(f, ...)) end

-- numbers
print(7 // 2, -7 // 2, 7 % -3, -7.5 % 2, 2 ^ 10, 1 / 3, 10 // 0.0, 3 | 4, ~5, 1 << 62, -1 >> 60, 5 ~ 3)
print(math.maxinteger + 1 == math.mininteger, math.tointeger("8"), math.type(1), math.type(1.0), math.ult(1, -1))
print(tonumber("0x1p4"), tonumber("z", 36), tonumber("1e1"), tonumber("10", 2), tonumber("x"), 0x7fffffffffffffff, 1e300 * 1e10)
print(math.floor(-3.5), math.ceil(3.2), math.fmod(-7, 3), math.abs(-4), math.max(1, 5, 3), math.min(2, 0), math.sqrt(2), math.pi)
print(string.format("%5.2f|%d|%x|%q|%s|%10s|%-5s|%c|%i|%g|%a", 3.14159, 42, 255, "a\nb", nil, "r", "l", 65, 7, 1e20, 0.5))
try(function() return 1 < "2" end)
try(function() return {} + 1 end)
try(function() return 2 ^ 53 | 0.5 end)
try(function() return #5 end)
try(function() local x; x.y = 1 end)
for i = 10, 1, -3 do io.write(i, " ") end
for x = 1.0, 2.0, 0.25 do io.write(x, " ") end
try(function() for i = 1, 10, 0 do end end)

-- strings
print(("hello world"):find("o w"), ("hello"):find("l+"), ("key = value"):match("^(%w+)%s*=%s*(%w+)$"), ("abc"):rep(3, "-"))
print(("x=1, y=2"):gsub("(%w)=(%w)", "%2=%1"), ("abc"):gsub("", "."), ("THE (quick) fox"):find("%((%a+)%)"), ("f(a(b)c)d"):match("%b()"))
print(("hello"):byte(1, -1), string.char(72, 105), ("abc"):reverse(), ("MiXed"):lower(), ("MiXed"):upper(), ("abc"):sub(-2), #"\u{10FFFF}")
for k, v in ("a=1;b=2;"):gmatch("(%w)=(%w);") do io.write(k, v, " ") end
print(("%f[%w]%w+"):len(), ("THE END"):gsub("%f[%w]%w+", function(w) return w:lower() end), ("abc"):gsub("%w", { a = "1", b = true }))
try(string.rep, "x", -1)
try(string.format, "%d", "1.5")
try(string.find, "a", "[a")
try(string.gsub, "a", "(", "")
print(string.pack("<i4z", 7, "zero"):byte(1, -1))
print(string.unpack("<i4z", string.pack("<i4z", -7, "zero")))
print(string.packsize("i4i8"), utf8.char(228, 8364, 128512), utf8.len("äöü"), utf8.codepoint("ä"), utf8.offset("äöü", 2))
for p, c in utf8.codes("aä") do io.write(p, ":", c, " ") end
print(utf8.len("\xff"))

-- tables, metatables
local t = { 5, 2, 8, 1, n = "x", [10] = 3 }
table.sort(t, function(a, b) return a > b end)
print(table.concat(t, ","), #t, select("#", table.unpack(t)), table.remove(t), table.insert(t, 1, 9), t[1], next({}), rawlen(t), rawequal(t, t))
print(table.concat(table.move({ 1, 2, 3 }, 2, 3, 1), " "), table.pack(1, nil, 3).n)
try(table.sort, { 3, 1, "x" })
try(table.concat, { {} })
local V = {}
V.__index = function(_, k) return k .. "!" end
V.__add = function(a, b) return "add" end
V.__call = function(self, ...) return select("#", ...) end
V.__tostring = function() return "V" end
V.__len = function() return 99 end
V.__eq = function() return true end
V.__lt = function() return true end
V.__le = function() return false end
V.__concat = function() return "cat" end
V.__unm = function() return "minus" end
V.__close = function() print("closed") end
V.__newindex = function(s, k, v) rawset(s, k, v * 2) end
local a, b = setmetatable({}, V), setmetatable({}, V)
print(a.foo, a + 1, 1 + a, a(1, 2), tostring(a), #a, a == b, a < b, a <= b, a .. "x", -a)
a.z = 4
print(a.z)
do local c <close> = a local d <const> = 5 end
print(getmetatable("").__index == string, getmetatable(setmetatable({}, { __metatable = "locked" })))
try(setmetatable, setmetatable({}, { __metatable = 1 }), {})

-- functions, coroutines, goto, varargs
local function fact(n) if n < 2 then return 1 end return n * fact(n - 1) end
local function tail(n) if n == 0 then return "done" end return tail(n - 1) end
print(fact(20), tail(100000), select(-1, 1, 2, 3), (function(...) return select("#", ...) end)(nil, nil))
local co = coroutine.wrap(function(x) for i = 1, 3 do x = coroutine.yield(x + i) end error("end") end)
print(co(1), co(2), co(3))
try(co, 4)
try(co, 5)
print(coroutine.isyieldable(), coroutine.status(coroutine.create(print)), coroutine.close(coroutine.create(print)))
for i = 1, 3 do
	if i == 2 then goto continue end
	io.write(i, " ")
	::continue::
end
print(xpcall(function() error("x", 2) end, function(m) return "handled " .. tostring(m) end))
print(select(2, pcall(error)), select(2, pcall(error, nil)), select(2, pcall(error, setmetatable({}, V))))

-- load, debug, os, io
print(load("return 1 + 1")(), load("x ="), load(string.dump(function() return 42 end))(), load(function() return nil end))
try(load, 5)
print(debug.getinfo(1, "l").currentline, debug.getinfo(print).what, (debug.traceback("trace", 1):gsub("\n.*", "")))
local n = 0
debug.sethook(function() n = n + 1 end, "l")
for i = 1, 5 do n = n + 0 end
debug.sethook()
print(n > 5, os.time({ year = 2000, month = 1, day = 1, hour = 12 }) > 0, os.date("!%Y-%m-%d", 86400), os.getenv("NO_SUCH"), os.tmpname and "t")
local f = assert(io.open("written.txt", "w"))
f:write("one\n", 2, "\n", 3.5, "\nrest of it")
f:close()
for line in io.lines("written.txt") do io.write("[", line, "]") end
f = io.open("written.txt")
print(f:read("n"), f:seek("set", 4), f:read("n", "l", "L", 4, "a"), f:read("l"), f:read(0), io.type(f), f:close(), io.type(f))
print(io.open("no/such/file"))
try(f.read, f)
print(os.rename("written.txt", "moved.txt"), os.remove("no such"))
print(io.popen and io.popen("echo piped"):read("a"))
collectgarbage("generational")
local weak = setmetatable({}, { __mode = "k" })
for i = 1, 1000 do weak[{}] = i end
collectgarbage()
print(next(weak), collectgarbage("isrunning"), collectgarbage("step"), collectgarbage("incremental"))
setmetatable({}, { __gc = function() print("collected") end })
