" SPDX-License-Identifier: Apache-2.0
"
" train.vim - the text of the first buffer is searched, changed, sorted and counted; C code is indented and coloured

set encoding=utf-8 undolevels=100
let s:rounds = max([1, g:percent * 15 / 100])
let s:result = []

func s:Count()
  let words = {}
  for line in getline(1, '$')
    for word in split(tolower(line), '\W\+')
      let words[word] = get(words, word, 0) + 1
    endfor
  endfor
  let sorted = sort(items(words), {a, b -> b[1] == a[1] ? (a[0] > b[0] ? 1 : -1) : b[1] - a[1]})
  return map(sorted[:4], {_, pair -> pair[0] .. ':' .. pair[1]})
endfunc

func s:Edit(round)
  execute '%s/\<\(\w\+\)\s\+\(\w\+\)\>/\2 \1/g'
  %s/[aeiou]\{2}/\=toupper(submatch(0))/ge
  execute 'g/' .. nr2char(97 + a:round % 26) .. 'er\>/normal! A (seen)'
  v/[.,]/s/^/> /
  let found = searchcount({'pattern': '\v<(st|tr)\w+(ing|ed)>', 'maxcount': 0})
  sort /.* /
  %s/\v(\w)(\w*)ing>/\2\1ay/ge
  undo
  normal! gg0qaf.a-jq50@a
  return [found.total, line('$'), strchars(join(getline(1, '$'), "\n"))]
endfunc

func s:Code(words, round)
  new
  setlocal ft= noautoindent
  let text = ['#include <stdio.h>', '/* ' .. join(a:words[:8]) .. ' */']
  for i in range(24)
    let name = a:words[(a:round * 31 + i) % len(a:words)]
    call extend(text, ['static int ' .. name .. '_' .. i .. '(const char *text, unsigned n)', '{',
          \ 'int sum = ' .. i * 7 .. ';', 'for (unsigned k = 0; k < n; k++) {', 'if (text[k] == ''' .. name[0] .. ''')',
          \ 'sum += 0x' .. printf('%x', i) .. ' * (int)k; /* ' .. name .. ' */', 'else', 'printf("%d %s\n", sum, "' .. name .. '");',
          \ '}', 'return sum;', '}', ''])
  endfor
  call setline(1, text)
  setlocal cindent shiftwidth=8
  normal! gg=G
  runtime! syntax/c.vim
  let seen = {}
  for l in range(1, line('$'))
    for c in range(1, col([l, '$']) - 1)
      let name = synIDattr(synID(l, c, 1), 'name')
      let seen[name] = get(seen, name, 0) + 1
    endfor
  endfor
  let result = join(map(sort(keys(seen)), {_, key -> key .. '=' .. seen[key]})) .. ' ' .. sha256(join(getline(1, '$')))[:7]
  bwipeout!
  return result
endfunc

let s:text = getline(1, '$')
let s:words = split(join(s:text), '\W\+')
for s:round in range(s:rounds)
  silent %delete _
  call setline(1, s:text)
  call add(s:result, join(s:Count()))
  call add(s:result, join(s:Edit(s:round)))
  call add(s:result, s:Code(s:words, s:round))
endfor
call writefile(s:result, '/dev/stdout', 'a')
qall!
