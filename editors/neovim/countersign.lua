-- Countersign for Neovim 0.10 and newer.
--
--   require('countersign').setup({
--     cmd = { 'countersign', 'serve' },
--     settings = { open = 'idle' },        -- Countersign's settings
--   })
--
-- Put this file into lua/ of your configuration (~/.config/nvim/lua/countersign.lua).
local M = {}

local name = 'countersign'
local modern = vim.lsp.config ~= nil -- 0.11 and newer

-- One root for the whole editor. A proposal lies outside the project, and a
-- server found by the file's own root would be a second process for it.
local function root()
  local cwd = vim.fn.getcwd(-1, -1)
  return vim.fs.root(cwd, '.git') or cwd
end

local function same(client)
  return client.name == name
end

-- The running server, also while it still starts.
local function client()
  return vim.lsp.get_clients({ name = name, _uninitialized = true })[1]
end

-- Shows a message. Neovim's own way to notify stops the person at a "Press
-- ENTER" prompt, which eats the next key, when a text is longer than the line or
-- comes right behind a list of choices.
local function tell(text, level)
  local source = debug.getinfo(vim.notify, 'S').source
  if source == '?' or source:match('^@vim/') then -- Neovim's own, not a plugin's
    if vim.api.nvim_get_mode().mode:match('^[cr]') then -- at a prompt now
      return vim.defer_fn(function() tell(text, level) end, 100)
    end
    vim.cmd.redraw()
    text = text:gsub('%s*\n.*', ' …')
    local room = vim.v.echospace - 1
    if vim.fn.strdisplaywidth(text) > room then
      text = vim.fn.strcharpart(text, 0, room - 1) .. '…'
    end
  end
  vim.notify(text, level)
end

local levels = { vim.log.levels.ERROR, vim.log.levels.WARN, vim.log.levels.INFO }

-- Takes a buffer out of its windows, each of which shows again what it showed
-- before: deleting the buffer would close them.
local function leave(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_call(win, function()
      local before = vim.fn.bufnr('#')
      if before > 0 and before ~= buf and vim.fn.buflisted(before) == 1 then
        vim.cmd('silent! keepalt buffer ' .. before)
      end
    end)
  end
end

-- Edits of documents that are Countersign's own, the prompt and the session's. One
-- that had no unsaved changes before has none afterwards: Neovim would not quit
-- over it. Written without autocommands, that is no save for anybody.
local own = {
  ['Countersign: prompt'] = true,
  ['Countersign: the prompt was sent'] = true,
  ['Countersign: the transcript goes on'] = true,
}

local function edited(err, params, ctx, cfg)
  local clean = {}
  if own[params.label] then
    params.label = nil -- it would be echoed
    local uris = vim.tbl_keys(params.edit.changes or {})
    for _, change in ipairs(params.edit.documentChanges or {}) do
      if change.kind == 'delete' then
        leave(vim.uri_to_bufnr(change.uri))
      else
        table.insert(uris, change.textDocument.uri)
      end
    end
    for _, uri in ipairs(uris) do
      local buf = vim.uri_to_bufnr(uri)
      if vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified then
        table.insert(clean, buf)
      end
    end
  end
  local reply = vim.lsp.handlers['workspace/applyEdit'](err, params, ctx, cfg)
  for _, buf in ipairs(clean) do
    vim.api.nvim_buf_call(buf, function() vim.cmd('silent! noautocmd update') end)
  end
  return reply
end

-- What Neovim 0.12 keeps of code lenses; nil where it is not as 0.12.4 has it.
local function lenses()
  local ok, capability = pcall(require, 'vim.lsp._capability')
  return ok and type(capability) == 'table' and capability.all and capability.all.codelens or nil
end

-- Neovim 0.12.4 remembers the lenses of buffers that are gone, and fails over them
-- when it is asked to refresh all.
local function refresh(err, result, ctx, cfg)
  local lens = lenses()
  for buf in pairs(lens and lens.active or {}) do
    if not vim.api.nvim_buf_is_valid(buf) then
      lens.active[buf] = nil
    end
  end
  pcall(vim.lsp.handlers['workspace/codeLens/refresh'], err, result, ctx, cfg)
  return vim.NIL
end

-- It also fails over lenses that arrive for a buffer that went meanwhile.
local function guard_lenses()
  local lens = lenses()
  local handler = lens and lens.handler
  if not handler or lens.countersign then
    return
  end
  lens.countersign = true
  lens.handler = function(self, ...)
    if type(self) ~= 'table' or not self.bufnr or vim.api.nvim_buf_is_valid(self.bufnr) then
      return handler(self, ...)
    end
  end
end

local handlers = {
  ['window/showMessage'] = function(_, message)
    tell('Countersign: ' .. message.message:gsub('^Countersign: ', ''), levels[message.type])
    return vim.NIL
  end,
  ['workspace/applyEdit'] = edited,
}
if vim.fn.has('nvim-0.12') == 1 then
  handlers['workspace/codeLens/refresh'] = refresh
end

local waiting = {} -- what to run once the server is up

-- Diagnostics beside their line, which Neovim 0.11 leaves off: ours are few, and
-- they are the news.
local function on_init(c)
  vim.diagnostic.config({ virtual_text = true }, vim.lsp.diagnostic.get_namespace(c.id))
  local list = waiting
  waiting = {}
  for _, go in ipairs(list) do
    vim.schedule(go)
  end
end

local function on_attach(c, buf)
  if vim.fn.has('nvim-0.12') == 1 then
    vim.lsp.codelens.enable(true, { client_id = c.id })
    guard_lenses()
    return
  end
  vim.lsp.codelens.refresh({ bufnr = buf })
  vim.api.nvim_create_autocmd({ 'BufEnter', 'BufWritePost', 'InsertLeave' }, {
    group = vim.api.nvim_create_augroup('countersign.lens.' .. buf, {}),
    buffer = buf,
    callback = function()
      vim.lsp.codelens.refresh({ bufnr = buf })
    end,
  })
end

local config -- of the server, from setup on

-- The server's configuration with its root, and with what the person added by
-- vim.lsp.config.
local function here()
  return vim.tbl_extend('force', modern and vim.lsp.config[name] or config, { root_dir = root() })
end

-- Attaches a buffer that shows a file, and starts the server when none runs.
local function attach(buf)
  if not vim.api.nvim_buf_is_valid(buf) or not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  local file = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or file == '' or file:match('^%a[%w+.-]+://') then
    return
  end
  vim.lsp.start(here(), { bufnr = buf, reuse_client = same })
end

-- Runs a command of the server, starting it when none runs: from an empty
-- Neovim too, whose one buffer shows no file.
local function run(command, argument, done)
  local c = client()
  if not c then
    local id
    if modern then
      id = vim.lsp.start(here(), { attach = false })
    else
      id = vim.lsp.start_client(here())
    end
    c = id and vim.lsp.get_client_by_id(id)
    if not c then
      return
    end
  end
  local function handler(err, result)
    if err then
      tell('Countersign: ' .. err.message, vim.log.levels.ERROR)
    elseif done then
      done(result)
    end
  end
  local params = { command = 'countersign.' .. command, arguments = { argument or vim.empty_dict() } }
  local function send()
    if modern then
      c:request('workspace/executeCommand', params, handler)
    else
      c.request('workspace/executeCommand', params, handler)
    end
  end
  if c.initialized then
    send()
  else
    table.insert(waiting, send)
  end
end

local function title(a)
  return string.format('%s (%s)', a.title, a.id)
end

-- Calls done with the approval of the current buffer, or with the one chosen.
local function choose(done)
  run('pending', nil, function(pending)
    pending = pending or {}
    local uri = vim.uri_from_bufnr(0)
    for _, a in ipairs(pending) do
      if a.stagedUri == uri then
        return done(a)
      end
    end
    if #pending == 0 then
      tell('Countersign: nothing waits for a decision')
    elseif #pending == 1 then
      done(pending[1])
    else
      vim.ui.select(pending, { prompt = 'Countersign', format_item = title }, function(a)
        if a then
          done(a)
        end
      end)
    end
  end)
end

local severities = { 'error: ', 'warning: ', 'information: ', 'hint: ' }

-- Begins a prompt about lines of the current buffer and what any server or linter
-- found there. Neovim's list of code actions tells a server of its own
-- diagnostics alone.
local function ask(first, last)
  local problems = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    if d.source ~= name and d.lnum < last and (d.end_lnum or d.lnum) + 1 >= first then
      local source = d.source and (' (' .. d.source .. ')') or ''
      local words = (severities[d.severity] or '') .. d.message .. source
      table.insert(problems, string.format('line %d: %s', d.lnum + 1, words))
    end
  end
  run('ask', {
    uri = vim.uri_from_bufnr(0),
    range = { start = { line = first - 1, character = 0 }, ['end'] = { line = last, character = 0 } },
    diagnostics = #problems > 0 and problems or nil,
  })
end

-- Ends the server and starts it again for every buffer that it had.
function M.restart()
  local c = client()
  if not c then
    return
  end
  local bufs = vim.tbl_keys(c.attached_buffers)
  if modern then
    c:stop()
  else
    c.stop()
  end
  local timer = vim.uv.new_timer()
  timer:start(0, 20, vim.schedule_wrap(function()
    if vim.lsp.get_client_by_id(c.id) or timer:is_closing() then
      return
    end
    timer:close()
    for _, buf in ipairs(bufs) do
      attach(buf)
    end
  end))
end

local subcommands = {
  prompt = function() run('prompt') end,
  send = function(text) run('send', { text = text }) end,
  ask = function(_, args) ask(args.line1, args.line2) end,
  review = function() choose(function(a) run('review', { id = a.id }) end) end,
  allow = function() choose(function(a) run('allow', { id = a.id }) end) end,
  deny = function(text)
    choose(function(a)
      run('deny', { id = a.id, message = text ~= '' and text or nil })
    end)
  end,
  interrupt = function() run('interrupt') end,
  session = function() run('newSession') end,
  status = function()
    run('status', nil, function(status) vim.notify(vim.inspect(status)) end)
  end,
  restart = function() M.restart() end,
}

local function names(prefix)
  local found = vim.tbl_filter(function(n) return vim.startswith(n, prefix) end, vim.tbl_keys(subcommands))
  table.sort(found)
  return found
end

function M.setup(opts)
  opts = opts or {}
  config = {
    name = name,
    cmd = opts.cmd or { 'countersign', 'serve' },
    cmd_env = opts.cmd_env,
    init_options = opts.settings or vim.empty_dict(),
    settings = { countersign = opts.settings or vim.empty_dict() },
    handlers = handlers,
    on_init = on_init,
    on_attach = on_attach,
  }
  local group = vim.api.nvim_create_augroup('countersign', {})

  if modern then
    -- No filetypes: every buffer that has one.
    vim.lsp.config(name, vim.tbl_extend('force', config, {
      root_dir = function(_, on_dir) on_dir(root()) end,
      reuse_client = same,
    }))
    vim.lsp.enable(name)
  else
    vim.api.nvim_create_autocmd('FileType', {
      group = group,
      callback = function(ev) attach(ev.buf) end,
    })
  end
  -- A file of no known type has no FileType event. Scheduled, so that one that
  -- gets its type late is attached once, with its language.
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
    group = group,
    callback = function(ev)
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(ev.buf) and vim.bo[ev.buf].filetype == '' then
          attach(ev.buf)
        end
      end)
    end,
  })
  if not modern and vim.v.vim_did_enter == 1 then
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      attach(buf)
    end
  end

  vim.api.nvim_create_user_command('Countersign', function(args)
    local sub, rest = args.args:match('^(%S*)%s*(.*)$')
    if sub == '' then
      sub = 'review'
    end
    if not subcommands[sub] then
      return tell('Countersign: no such command: ' .. sub, vim.log.levels.ERROR)
    end
    subcommands[sub](rest, args)
  end, {
    nargs = '*',
    range = true,
    desc = 'Countersign: ' .. table.concat(names(''), ', '),
    complete = function(prefix) return names(prefix) end,
  })
end

return M
