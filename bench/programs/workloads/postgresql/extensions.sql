create extension hstore;

create extension ltree;

create extension pg_trgm;

create table h as select hstore(array['a', 'b', 'c' || i % 7], array[i::text, (i * 7)::text, 'x']) v from generate_series(1, @PERCENT@ * 3000) i;

select count(*), max(length(v::text)) from h where v ? 'c3' and v -> 'a' < '5';

select key, count(*) from h, each(v) group by key order by key;

create table l as select ('top.' || chr(97 + i % 26) || '.n' || i % 11 || '.leaf')::ltree p from generate_series(1, @PERCENT@ * 3000) i;

select subpath(p, 1, 2) s, count(*) from l where p ~ '*.n3|n5.*' group by s order by s limit 9;

select count(*) from l where p <@ 'top.c';

select sum(similarity('customer ' || i, 'custom 1' || i % 97)) from generate_series(1, @PERCENT@ * 3000) i;

create function steps(n bigint) returns int language plpgsql as $$ declare k int := 0; begin while n > 1 loop k := k + 1; if n % 2 = 0 then n := n / 2; else n := 3 * n + 1; end if; end loop; return k; end $$;

select max(steps(i)) from generate_series(1, @PERCENT@ * 100) i;

select i, md5(i::text), i / 7.0, i % 3 = 0 from generate_series(1, @PERCENT@ * 4000) i;

\copy (select i, 'entry ' || i from generate_series(1, @PERCENT@ * 4000) i) to /dev/null
