create table customer (id int primary key, name text not null, city int not null, since date not null, credit numeric(12,2) not null);

create table orders (id int primary key, customer int not null references customer, day date not null, state char(1) not null);

create table line (orders int not null references orders, n smallint not null, item int not null, quantity int not null, price numeric(10,2) not null, primary key (orders, n));

insert into customer select i, 'customer ' || to_char(i, 'FM000000'), (i * 7919) % 211, date '2001-01-01' + (i * 31) % 7000, (i * 37) % 100000 / 7.0 from generate_series(1, 240 * @PERCENT@) i;

insert into orders select i, 1 + (i::bigint * 48271) % (240 * @PERCENT@), date '2019-03-01' + i % 900, substr('NPSD', 1 + i % 4, 1) from generate_series(1, 1200 * @PERCENT@) i;

insert into line select 1 + i / 4, i % 4, (i::bigint * 16807) % 5003, 1 + i % 17, ((i * 13) % 9000) / 10.0 from generate_series(0, 4800 * @PERCENT@ - 1) i;

create index line_item on line (item);

create index orders_customer on orders (customer, day);

analyze;

select state, count(*), sum(quantity * price), avg(price), min(day), max(day) from orders join line on line.orders = orders.id group by state order by state;

select city, count(distinct c.id), sum(l.quantity), round(avg(l.price), 3) from customer c join orders o on o.customer = c.id join line l on l.orders = o.id where o.day between date '2019-06-01' and date '2020-09-01' group by city having count(*) > 10 order by 3 desc, 1 limit 20;

select c.name, t.total from customer c, lateral (select sum(quantity * price) total from orders o join line l on l.orders = o.id where o.customer = c.id) t where c.id % 3 = 0 order by total desc nulls last, name limit 15;

select extract(year from day) y, extract(month from day) m, count(*) filter (where state = 'S') shipped, count(*) filter (where state = 'D') done from orders group by 1, 2 order by 1, 2;

select item, quantity, rank() over (partition by item order by quantity desc, orders, n) r from line where item < 40 order by item, r limit 60;

with top as (select item, sum(quantity) q from line group by item order by q desc, item limit 100) select count(*), sum(l.price) from line l join top using (item) where l.price > (select avg(price) from line);

update line set price = price * 1.05 where item % 10 = 3;

delete from line where quantity = 17 and n = 3;

update orders set state = 'D' where day < date '2019-08-01' and state in ('N', 'P');

select count(*), sum(price)::numeric(20,2) from line;

select name from customer where name like '%77%' or name ~ '^customer 0*[13]+5$' order by name limit 30;

select upper(substr(name, 10)), length(name), md.n from customer, (select count(*) n from orders) md where city = 17 order by 1;

select o.id from orders o where not exists (select 1 from line l where l.orders = o.id and l.quantity > 3) order by o.id limit 25;

select customer, array_agg(id order by day desc, id) from orders where customer between 5 and 40 group by customer order by customer;

select jsonb_agg(jsonb_build_object('id', id, 'name', name, 'credit', credit)) -> 3 from customer where id % 11 = 0;

create view busy as select customer, count(*) orders, max(day) last from orders group by customer having count(*) > 6;

select count(*), max(last) from busy;

select c.city, sum(b.orders) from busy b join customer c on c.id = b.customer group by rollup (c.city) order by 2 desc nulls last, 1 limit 12;

begin;

create temp table moved as select * from line where item % 7 = 1;

insert into line select orders, n + 10, item + 1, quantity, price from moved;

rollback;

vacuum analyze line;

explain (costs off) select * from orders o join line l on l.orders = o.id where o.customer = 9 and l.item = 77;

