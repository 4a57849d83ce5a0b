-- Test: a library of measurements and documents; other tables, other statements than training.
CREATE TABLE sensor(code TEXT PRIMARY KEY, place TEXT, gain REAL) WITHOUT ROWID;
CREATE TABLE reading(sensor TEXT, at INTEGER, value REAL, note TEXT);
CREATE TABLE document(id INTEGER PRIMARY KEY, title TEXT, body TEXT, tags TEXT);
CREATE TABLE link(source INTEGER, target INTEGER, weight INTEGER, PRIMARY KEY(source, target)) WITHOUT ROWID;

BEGIN;
WITH RECURSIVE g(i, r) AS (
  SELECT 1, 31337 UNION ALL
  SELECT i + 1, (r * 69069 + 1) % 4294967296 FROM g WHERE i < 400)
INSERT INTO sensor SELECT printf('S%04x', i), 'hall ' || (r % 17), 1.0 + (r % 100) / 1000.0 FROM g;
WITH RECURSIVE g(i, r) AS (
  SELECT 1, 271828 UNION ALL
  SELECT i + 1, (r * 69069 + 1) % 4294967296 FROM g WHERE i < @PERCENT@ * 2600)
INSERT INTO reading SELECT printf('S%04x', 1 + (r >> 8) % 400), i * 60, (r % 20000) / 16.0 - 300,
  CASE r % 11 WHEN 0 THEN 'calibrated' WHEN 1 THEN NULL ELSE hex(r % 65536) END FROM g;
WITH RECURSIVE g(i, r) AS (
  SELECT 1, 161803 UNION ALL
  SELECT i + 1, (r * 69069 + 1) % 4294967296 FROM g WHERE i < @PERCENT@ * 120)
INSERT INTO document SELECT i, 'Title ' || (r % 1000), replace(hex(r * r) || ' ' || hex(r), '3', ' lorem '),
  json_array(r % 7, 'tag' || (r % 31), json_object('k', r % 5)) FROM g;
WITH RECURSIVE g(i, r) AS (
  SELECT 1, 141421 UNION ALL
  SELECT i + 1, (r * 69069 + 1) % 4294967296 FROM g WHERE i < @PERCENT@ * 500)
INSERT OR IGNORE INTO link SELECT (r >> 4) % (@PERCENT@ * 60) + 1, (r >> 12) % (@PERCENT@ * 60) + 1, r % 100 FROM g;
COMMIT;

CREATE INDEX reading_at ON reading(at);
CREATE INDEX reading_sensor ON reading(sensor, value);

SELECT s.place, count(r.value), round(avg(r.value * s.gain), 3), min(r.at)
  FROM sensor s LEFT JOIN reading r ON r.sensor = s.code AND r.value BETWEEN -100 AND 500
  GROUP BY s.place ORDER BY s.place;
SELECT sensor, at, value, round(avg(value) OVER (PARTITION BY sensor ORDER BY at ROWS 5 PRECEDING), 4)
  FROM reading WHERE sensor < 'S0010' ORDER BY sensor, at LIMIT 300;
SELECT json_extract(tags, '$[1]') AS tag, count(*), max(length(body)) FROM document
  WHERE body LIKE '%lorem%' AND json_extract(tags, '$[2].k') <> 2 GROUP BY tag ORDER BY 2 DESC, 1;
SELECT upper(substr(title, 7)), instr(body, 'lorem'), trim(body, '0123456789 ') FROM document
  WHERE id % 97 = 5 ORDER BY 2, 1 LIMIT 100;

WITH RECURSIVE walk(node, depth) AS (
  SELECT 1, 0 UNION
  SELECT link.target, depth + 1 FROM walk JOIN link ON link.source = walk.node WHERE depth < 7)
SELECT depth, count(DISTINCT node) FROM walk GROUP BY depth;

BEGIN;
UPDATE reading SET value = value * 1.5, note = coalesce(note, 'none') || '*' WHERE at % 7 = 0;
INSERT INTO sensor VALUES ('S0001', 'roof', 2.0) ON CONFLICT(code) DO UPDATE SET place = excluded.place;
DELETE FROM reading WHERE rowid IN (SELECT rowid FROM reading WHERE note IS 'calibrated' AND value < 0);
COMMIT;

CREATE TRIGGER audit AFTER DELETE ON document BEGIN
  UPDATE link SET weight = weight + 1 WHERE source = old.id;
END;
DELETE FROM document WHERE id % 5 = 0;
SELECT sum(weight), count(*) FROM link;
SELECT a.sensor, b.sensor, count(*) FROM reading a JOIN reading b ON a.at = b.at + 60 AND a.value > b.value
  WHERE a.sensor BETWEEN 'S0020' AND 'S0040' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 20;
SELECT note, count(*) AS n FROM reading GROUP BY note HAVING n > 5 UNION ALL SELECT 'all', count(*) FROM reading
  ORDER BY n DESC, note LIMIT 50;
SELECT quote(max(at)), total(value) > 0, count(DISTINCT round(value)) FROM reading;
VACUUM;
PRAGMA quick_check;
