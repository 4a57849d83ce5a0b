-- Training: a shop. @PERCENT@ is replaced by the scale of the run.
PRAGMA page_size = 4096;
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, since INTEGER);
CREATE TABLE item(id INTEGER PRIMARY KEY, label TEXT, price REAL, stock INTEGER);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer INTEGER, item INTEGER, n INTEGER, day INTEGER);

BEGIN;
WITH RECURSIVE c(i, r) AS (
  SELECT 1, 7919 UNION ALL
  SELECT i + 1, (r * 1103515245 + 12345) % 2147483648 FROM c WHERE i < @PERCENT@ * 200)
INSERT INTO customer SELECT i, 'name' || (r % 5000) || char(97 + r % 26), 'city' || (r % 97), 1970 + r % 50 FROM c;
WITH RECURSIVE c(i, r) AS (
  SELECT 1, 104729 UNION ALL
  SELECT i + 1, (r * 1103515245 + 12345) % 2147483648 FROM c WHERE i < @PERCENT@ * 40)
INSERT INTO item SELECT i, printf('item-%05d', r % 100000), (r % 10000) / 100.0, r % 500 FROM c;
WITH RECURSIVE c(i, r) AS (
  SELECT 1, 15485863 UNION ALL
  SELECT i + 1, (r * 1103515245 + 12345) % 2147483648 FROM c WHERE i < @PERCENT@ * 2000)
INSERT INTO sale SELECT i, 1 + r % (@PERCENT@ * 200), 1 + (r / 7) % (@PERCENT@ * 40), 1 + r % 9, r % 365 FROM c;
COMMIT;

CREATE INDEX sale_customer ON sale(customer);
CREATE INDEX sale_item ON sale(item, day);
CREATE INDEX customer_name ON customer(name);
ANALYZE;

SELECT c.city, count(*), round(sum(s.n * i.price), 2) FROM sale s
  JOIN customer c ON c.id = s.customer JOIN item i ON i.id = s.item
  GROUP BY c.city ORDER BY 3 DESC LIMIT 20;
SELECT day, count(DISTINCT customer), max(n) FROM sale GROUP BY day HAVING count(*) > 3 ORDER BY day LIMIT 40;
SELECT name FROM customer WHERE name LIKE '%12%' ORDER BY name LIMIT 25;

BEGIN;
UPDATE item SET stock = stock - (SELECT coalesce(sum(n), 0) FROM sale WHERE sale.item = item.id AND day < 90);
UPDATE customer SET city = upper(city) WHERE since > 2000;
DELETE FROM sale WHERE day > 300 AND n < 3;
COMMIT;

SELECT count(*), total(stock), avg(price) FROM item;
SELECT substr(label, 1, 7), count(*), group_concat(id, ',') FROM (SELECT * FROM item ORDER BY id LIMIT 200) GROUP BY 1 ORDER BY 1 LIMIT 20;
SELECT c.name, (SELECT sum(n) FROM sale WHERE customer = c.id) AS total FROM customer c
  WHERE c.id % 3 = 0 ORDER BY total DESC, c.id LIMIT 30;
WITH RECURSIVE fib(a, b, n) AS (SELECT 0, 1, 1 UNION ALL SELECT b, (a + b) % 1000000007, n + 1 FROM fib WHERE n < @PERCENT@ * 800)
  SELECT max(a), sum(b) FROM fib;
PRAGMA integrity_check;
