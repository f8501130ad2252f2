#!lua name=journeyman_VERSION
-- The writes that must happen as one. Redis runs a function to its end before it looks at the next client.
-- VERSION is replaced by the hash of this file when it is loaded, so that two releases can share a server.
-- Numbers that matter (scores, gains) are made and compared in Rust; here they are only ranked.

-- Ends a group if every rollout has an end. Answers the group's state.
local function settle(group_key, ends_key, open_key, ended_key, group, overdue)
  local size = tonumber(redis.call('HGET', group_key, 'size'))
  if redis.call('HLEN', ends_key) < size then
    return 'open'
  end
  local rewarded = tonumber(redis.call('HGET', group_key, 'rewarded'))
  local usable = tonumber(redis.call('HGET', group_key, 'usable'))
  local state
  if rewarded == size then
    state = 'complete'
  elseif rewarded >= usable then
    state = 'partial'
  elseif overdue then
    state = 'expired'
  else
    state = 'failed'
  end
  redis.call('HSET', group_key, 'state', state)
  redis.call('ZREM', open_key, group)
  redis.call('HSET', ended_key, group, state)
  return state
end

-- Puts `member` into a capped ranking and its JSON beside it; the lowest rank goes when there are too many.
local function rank(ranking_key, values_key, member, json, score, how, cap)
  local changed = redis.call('ZADD', ranking_key, how, 'CH', score, member)
  if changed == 1 then
    redis.call('HSET', values_key, member, json)
  end
  while redis.call('ZCARD', ranking_key) > cap do
    redis.call('HDEL', values_key, redis.call('ZPOPMIN', ranking_key)[1])
  end
end

-- Adds to a state pool in order of arrival; a program that is there keeps its place.
local function arrive(pool_key, states_key, arrivals_key, program, json, cap)
  if not redis.call('ZSCORE', pool_key, program) then
    rank(pool_key, states_key, program, json, redis.call('INCR', arrivals_key), 'NX', cap)
  end
end

-- keys: group, open; args: group number, size, usable, deadline_ms, policy, policy_version, meta
local function open(keys, args)
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'existing'
  end
  redis.call('HSET', keys[1], 'size', args[2], 'usable', args[3], 'deadline_ms', args[4], 'policy', args[5],
    'policy_version', args[6], 'meta', args[7], 'state', 'open', 'rewarded', 0)
  redis.call('ZADD', keys[2], args[4], args[1])
  return 'new'
end

-- keys: group, ends, open, ended, counters, and with a solution: archive, archive values, pool, pool values, arrivals
-- args: group number, rollout, 1 if rewarded, fingerprint, end as JSON, and with a solution: program, solution as
--       JSON, gain or '', archive cap, pool cap
local function commit(keys, args)
  local size = redis.call('HGET', keys[1], 'size')
  if not size or tonumber(args[2]) >= tonumber(size) then
    redis.call('HINCRBY', keys[5], 'unknown', 1)
    return { 'unknown', 'open' }
  end
  local known = redis.call('HGET', keys[2], args[2])
  if known then
    local outcome = 'conflict'
    if string.sub(known, 1, #args[4]) == args[4] then
      outcome = 'duplicate'
    elseif cjson.decode(string.sub(known, #args[4] + 1)).outcome == 'expired' then
      outcome = 'late'
    end
    redis.call('HINCRBY', keys[5], outcome, 1)
    return { outcome, redis.call('HGET', keys[1], 'state') }
  end
  redis.call('HSET', keys[2], args[2], args[4] .. args[5])
  redis.call('HINCRBY', keys[1], 'rewarded', args[3])
  redis.call('HINCRBY', keys[5], 'accepted', 1)
  if #args > 5 then
    if args[8] ~= '' then
      rank(keys[6], keys[7], args[6], args[7], args[8], 'GT', tonumber(args[9]))
    end
    arrive(keys[8], keys[9], keys[10], args[6], args[7], tonumber(args[10]))
  end
  return { 'accepted', settle(keys[1], keys[2], keys[3], keys[4], args[1], false) }
end

-- keys: group, ends, open, ended, counters; args: group number, now_ms, then per rollout the end that stands for a
-- missing one. Answers the group's state if this call ended it, else 'open'.
local function expire(keys, args)
  local deadline = redis.call('HGET', keys[1], 'deadline_ms')
  if redis.call('HGET', keys[1], 'state') ~= 'open' or tonumber(deadline) > tonumber(args[2]) then
    return 'open'
  end
  for index = 3, #args do
    if redis.call('HSETNX', keys[2], index - 3, args[index]) == 1 then
      redis.call('HINCRBY', keys[5], 'expired', 1)
    end
  end
  return settle(keys[1], keys[2], keys[3], keys[4], args[1], true)
end

-- keys: pool, pool values, arrivals; args: program, solution as JSON, cap
local function pool(keys, args)
  arrive(keys[1], keys[2], keys[3], args[1], args[2], tonumber(args[3]))
  return 'ok'
end

redis.register_function('open_VERSION', open)
redis.register_function('commit_VERSION', commit)
redis.register_function('expire_VERSION', expire)
redis.register_function('pool_VERSION', pool)
