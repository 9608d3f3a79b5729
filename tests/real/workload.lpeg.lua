-- SPDX-License-Identifier: Apache-2.0
--
-- A workload of LPeg, a C library that the Lua interpreter loads by dlopen()
-- and unloads when it ends: a grammar for arithmetic, captures that call back
-- into Lua, and errors that leave the library by longjmp(). Prints the same
-- lines for the same argument.
--
-- usage: lua workload.lpeg.lua ROUNDS

local lpeg = require "lpeg"
local P, R, S, V, C = lpeg.P, lpeg.R, lpeg.S, lpeg.V, lpeg.C

local function fold(a, op, b, ...)
  if not op then return a end
  if op == "+" then a = a + b
  elseif op == "-" then a = a - b
  elseif op == "*" then a = a * b
  elseif b == 0 then error("division by zero")
  else a = a // b end
  return fold(a, ...)
end

local space = S" \t\n"^0
local number = R"09"^1 / tonumber * space
local function operator(set) return C(S(set)) * space end
local grammar = P{
  space * V"sum" * -1,
  sum = V"product" * (operator"+-" * V"product")^0 / fold,
  product = V"value" * (operator"*/" * V"value")^0 / fold,
  value = number + P"(" * space * V"sum" * P")" * space,
}

local rounds = tonumber(arg[1])
local sum, failed, caught = 0, 0, 0
for i = 1, rounds do
  local text = ("%d * (%d + %d) - %d / %d"):format(i, i % 7, i % 11, i, i % 5)
  local ok, value = pcall(grammar.match, grammar, text)
  if ok then sum = sum + value else caught = caught + 1 end
  if not grammar:match(text .. " +") then failed = failed + 1 end
  if not pcall(lpeg.match, P"a", {}) then caught = caught + 1 end
end
print(sum, failed, caught)
print(pcall(lpeg.P, function() end) and "pattern" or "none")
