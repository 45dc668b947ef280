if redis.call('XLEN', KEYS[2]) + #ARGV - 1 > tonumber(ARGV[1]) then return -1 end
local new = 0
for i = 2, #ARGV do local added = redis.pcall('BF.ADD', KEYS[1], ARGV[i])
  if added == 1 then redis.call('XADD', KEYS[2], '*', 'url', ARGV[i]) new = new + 1
  elseif added ~= 0 then return added end
end
return new
