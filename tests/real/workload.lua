-- SPDX-License-Identifier: Apache-2.0
--
-- A workload of the Lua interpreter: strings, tables, closures, sorting,
-- coroutines, errors caught by pcall (which leave C functions by longjmp),
-- garbage collection, compiling. Prints the same lines for the same argument.
--
-- usage: lua workload.lua ROUNDS [WARM]
--
-- Calls os.clock() after WARM rounds, and nowhere else: see tests/bench/meter.c.

local rounds, warm = tonumber(arg[1]), tonumber(arg[2])
local seed = 42

local function random(limit)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % limit + 1
end

local function words(count)
  local list = {}
  for i = 1, count do
    local letters = {}
    for j = 1, random(6) + 1 do letters[j] = string.char(96 + random(26)) end
    list[i] = table.concat(letters)
  end
  return list
end

local function frequencies(text)
  local counts = {}
  for word in text:gmatch("%a+") do counts[word] = (counts[word] or 0) + 1 end
  local sorted = {}
  for word, count in pairs(counts) do sorted[#sorted + 1] = {word, count} end
  table.sort(sorted, function(a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    return a[1] < b[1]
  end)
  return sorted
end

local function strings(list)
  local text = table.concat(list, " ")
  local upper = text:gsub("%a+", function(word)
    return #word > 4 and word:upper() or word:reverse()
  end)
  return #upper + select(2, upper:gsub("[aeiou]", "")) + #frequencies(text)
end

-- Errors cross several C functions: sort's comparison, gsub's replacement.
local function errors(list)
  local caught = 0
  local function fail(level)
    if level == 0 then error({code = caught}) end
    local ok, what = pcall(table.sort, {3, 2, 1}, function()
      fail(level - 1)
    end)
    if not ok then error(what) end
  end
  for i = 1, 20 do
    local ok, what = pcall(fail, i % 5)
    if not ok and type(what) == "table" then caught = caught + 1 end
    ok = pcall(string.gsub, list[i], "%a", function() error("no") end)
    if not ok then caught = caught + 1 end
    ok = pcall(function() return list[i] + {} end)
    if not ok then caught = caught + 1 end
  end
  return caught
end

local function closures(count)
  local sum, counters = 0, {}
  for i = 1, count do
    local value = 0
    counters[i] = function(step) value = value + step; return value end
  end
  for i = 1, count do sum = sum + counters[i](i) + counters[random(count)](1) end
  return sum
end

local function coroutines(count)
  local function numbers()
    for i = 1, count do coroutine.yield(i) end
  end
  local sum = 0
  for number in coroutine.wrap(numbers) do sum = sum + number end
  local dead = coroutine.create(function() error("inside") end)
  coroutine.resume(dead)
  return sum
end

local Account = setmetatable({}, {__call = function(class, balance)
  return setmetatable({balance = balance}, class)
end})
Account.__index = Account
Account.__add = function(a, b) return Account(a.balance + b.balance) end
Account.__lt = function(a, b) return a.balance < b.balance end
Account.__tostring = function(a) return string.format("%06d", a.balance) end

local function objects(count)
  local list, total = {}, Account(0)
  for i = 1, count do
    list[i] = Account(random(1000))
    total = total + list[i]
  end
  table.sort(list)
  return tostring(total) .. tostring(list[1]) .. tostring(list[count])
end

local function compiled(round)
  local source = {"local x = ..."}
  for i = 1, 20 do
    source[#source + 1] = ("x = (x * %d + %d) %% 65537"):format(i + round, i)
  end
  source[#source + 1] = "return x"
  return load(table.concat(source, "\n"))(round)
end

for round = 1, rounds do
  local list = words(300)
  print(round, strings(list), errors(list), closures(200), coroutines(100),
        objects(100), compiled(round))
  if round % 50 == 0 then collectgarbage() end
  if round == warm then os.clock() end
end
