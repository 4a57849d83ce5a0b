create table station (code varchar(8) primary key, place point not null, height real, notes jsonb not null default '{}');

create table reading (station varchar(8) not null, at timestamptz not null, kind smallint not null, value double precision, flags bit varying(8));

create table word (id serial primary key, body text not null);

insert into station select 'st' || i, point(i % 180, (i * 7) % 90), (i * 13) % 2500, jsonb_build_object('owner', 'unit' || i % 9, 'tags', jsonb_build_array(i % 5, i % 3, 'x' || i)) from generate_series(1, 3 * @PERCENT@ + 20) i;

insert into reading select 'st' || 1 + i % (3 * @PERCENT@ + 20), timestamptz '2022-01-01 00:00:00+00' + i * interval '37 seconds', i % 6, sin(i / 100.0) * 30 + i % 17, b'1010' from generate_series(1, 3500 * @PERCENT@) i;

create index reading_at on reading using brin (at);

create index reading_station on reading (station, at desc);

insert into word (body) select string_agg(chr(97 + (i * 7 + j * j * 3) % 26) || chr(97 + (i + j * 11) % 26), case when j % 4 = 0 then ' ' else '' end order by j) from generate_series(1, 60 * @PERCENT@) i, generate_series(1, 24) j group by i;

analyze;

select station, kind, percentile_cont(0.5) within group (order by value) median, stddev(value), corr(value, extract(epoch from at)) from reading where station in (select code from station where height > 1200) group by station, kind order by station, kind limit 40;

select date_trunc('day', at) as day, kind, avg(value), max(value) - min(value) spread from reading group by 1, 2 order by 1, 2 limit 50;

select station, at, value, value - lag(value) over w as step, avg(value) over (partition by station order by at rows between 5 preceding and current row) smooth from reading window w as (partition by station order by at) order by abs(value) desc, station, at limit 40;

with recursive walk(n, a, b, path) as (select 1, 0::numeric, 1::numeric, array[0] union all select n + 1, b, a + b, path || n from walk where n < 150) select n, b, array_length(path, 1) from walk where n % 30 = 0;

with recursive tree(id, parent, depth) as (select 1, 0, 0 union all select c, t.id, depth + 1 from tree t, lateral (values (t.id * 2), (t.id * 2 + 1)) v(c) where c < 600 * @PERCENT@) select depth, count(*), sum(id) from tree group by depth order by depth;

select w.id, s.code from word w join station s on position(substr(s.code, 3) || 'q' in w.body) > 0 or w.body like substr(s.code, 3, 1) || '%' order by 1, 2 limit 20;

select word, count(*) from word w, regexp_split_to_table(w.body, '\s+') t(word) where word ~ '[aeiou].*[xyz]' group by word order by 2 desc, 1 limit 25;

select to_tsvector('simple', body) @@ to_tsquery('simple', 'ab:* | qz:*'), count(*) from word group by 1 order by 1;

select notes ->> 'owner' owner, count(*), sum((notes -> 'tags' ->> 0)::int) from station where notes @> '{"tags": [2]}' group by 1 order by 1;

select kind, count(*), avg(value) from reading r where at between timestamptz '2022-01-02 00:00:00+00' and timestamptz '2022-01-02 06:00:00+00' and exists (select from station s where s.code = r.station and s.place <@ box '(0,0),(90,45)') group by kind order by kind;

update station set notes = notes || jsonb_build_object('seen', (select count(*) from reading where reading.station = station.code)) where height < 700;

insert into word (id, body) values (3, 'again'), (1000001, 'new') on conflict (id) do update set body = word.body || ' ' || excluded.body;

merge into station t using (select 'st' || i code, i from generate_series(1, 500, 3) i) n on t.code = n.code when matched then update set height = t.height + 1 when not matched then insert (code, place, height) values (n.code, point(0, 0), n.i);

delete from reading r using station s where s.code = r.station and s.height::int % 5 = 0;

select count(*), sum(value)::numeric(16,4) from reading;

select kind, grouping(kind), grouping(station), count(*) from reading group by cube (kind, station) order by 4 desc, 1, 2, 3 limit 20;

select s1.code, s2.code, s1.place <-> s2.place d from station s1 join station s2 on s1.code < s2.code where s1.height between 300 and 380 order by d, 1, 2 limit 15;

select format('%s-%s', lpad(to_hex(id), 8, '0'), reverse(left(body, 12))), initcap(body) from word where id % 50 = 7 order by 1 limit 30;

(select code from station except select station from reading) union (select 'none') order by 1 limit 20;

select sum(n.v * n.v / 3.7 - sqrt(n.v)), avg(n.v ^ 1.5) from (select generate_series(1, 2000 * @PERCENT@)::numeric v) n;

explain (costs off) select * from reading join station on code = station where at > '2022-03-01' order by at limit 5;

