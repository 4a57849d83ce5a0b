" SPDX-License-Identifier: Apache-2.0
"
" test.vim - paragraphs are wrapped, folded, compared and undone; Python code is indented and coloured; data is encoded and
" decoded; functions of the new language

set encoding=utf-8 undolevels=200
" No search of the indenting ends by the clock: what is executed would be chance.
let g:pyindent_searchpair_timeout = 0
let s:rounds = max([1, g:percent * 15 / 100])
let s:result = []

def Primes(n: number): number
  var sieve = repeat([true], n + 1)
  var found = 0
  for i in range(2, n)
    if sieve[i]
      found += 1
      var j = i * i
      while j <= n
        sieve[j] = false
        j += i
      endwhile
    endif
  endfor
  return found
enddef

def Tree(some: list<string>): string
  var root: dict<any> = {}
  for word in some
    var node = root
    for letter in split(word, '\zs')
      if !has_key(node, letter)
        node[letter] = {}
      endif
      node = node[letter]
    endfor
    node['.'] = get(node, '.', 0) + 1
  endfor
  var encoded = json_encode(root)
  return len(encoded) .. ' ' .. (json_decode(encoded) == root) .. ' ' .. len(string(root)->substitute("'", '', 'g'))
enddef

func s:Wrap(round)
  setlocal textwidth=64 formatoptions=tcq2 nojoinspaces
  silent %join
  silent %s/\. /.\r\r/g
  normal! gggqG
  setlocal foldmethod=expr foldexpr=getline(v:lnum)=~'^$'?0:indent(v:lnum)+1 foldlevel=0
  let folds = 0
  for l in range(1, line('$'))
    let folds += foldclosed(l) == l
  endfor
  setlocal foldmethod=manual
  normal! zE
  let wrapped = line('$')
  let before = changenr()
  for l in range(3, min([400, line('$')]), 7)
    execute l .. 'normal! wdwbP~e' .. "\<C-A>"
    execute 'normal! ' .. l .. "Gyiwea-\<C-R>0-\<Esc>"
  endfor
  execute 'undo' before
  redo
  earlier 5
  return [folds, wrapped, line('$'), matchstr(getline(wrapped / 2 + a:round), '\k*$')]
endfunc

func s:Compare(text)
  enew!
  call setline(1, a:text)
  diffthis
  vnew
  call setline(1, a:text)
  silent g/ed\>/move 0
  silent %s/\<an\?\>/the/ge
  diffthis
  let kinds = {}
  for l in range(1, line('$'))
    let id = synIDattr(diff_hlID(l, 1), 'name') .. diff_filler(l)
    let kinds[id] = get(kinds, id, 0) + 1
  endfor
  silent only!
  diffoff!
  return join(map(sort(keys(kinds)), 'v:val .. "=" .. kinds[v:val]'))
endfunc

func s:Code(words, round)
  enew!
  let text = ['#!/usr/bin/python3', '"""' .. join(a:words[:12]) .. '"""', 'import os, sys']
  for i in range(20)
    let name = a:words[(a:round * 17 + i * 3) % len(a:words)]
    call extend(text, ['@property', 'def ' .. name .. '(self, *args):', '# ' .. name, 'for k, v in enumerate(args):',
          \ 'if v % ' .. (i + 2) .. ' == 0 and "' .. name .. '\n" in self.names:', 'yield f"{k!r:>8} {v}" + r''\d+''',
          \ 'elif isinstance(v, float):', 'raise ValueError(0x1f + 3.5e-' .. i .. ')', 'return None', ''])
  endfor
  call setline(1, text)
  setlocal shiftwidth=4 expandtab
  runtime! indent/python.vim
  normal! gg=G
  runtime! syntax/python.vim
  let seen = {}
  for l in range(1, line('$'))
    for c in range(1, col([l, '$']) - 1, 2)
      let name = synIDattr(synIDtrans(synID(l, c, 0)), 'name')
      let seen[name] = get(seen, name, 0) + 1
    endfor
  endfor
  let result = join(map(sort(keys(seen)), {_, key -> key .. '=' .. seen[key]})) .. ' ' .. sha256(join(getline(1, '$')))[:7]
  syntax clear
  return result
endfunc

let s:text = getline(1, '$')
let s:words = split(join(s:text), '\W\+')
for s:round in range(s:rounds)
  enew!
  call setline(1, s:text)
  call add(s:result, join(s:Wrap(s:round)))
  call add(s:result, s:Compare(s:text))
  call add(s:result, s:Code(s:words, s:round))
  call add(s:result, Primes(6000 + s:round) .. ' ' .. Tree(s:words[s:round * 40 : s:round * 40 + 2000]))
endfor
call writefile(s:result, '/dev/stdout', 'a')
qall!
