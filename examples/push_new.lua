if redis.call('XLEN', KEYS[2]) + #ARGV - 1 > tonumber(ARGV[1]) then return -1 end
local replies, new = redis.call('BF.MADD', KEYS[1], unpack(ARGV, 2)), 0
for i, reply in ipairs(replies) do
  if reply == 1 then redis.call('XADD', KEYS[2], '*', 'url', ARGV[i + 1]) new = new + 1 end
end
return type(replies[#replies]) == 'table' and replies[#replies] or new
