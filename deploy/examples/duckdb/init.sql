-- What the example server runs when it starts. A real one holds passwords, so it is handed over as a secret:
--   CREATE SECRET warehouse (TYPE postgres, HOST 'db', USER 'reader', PASSWORD '...');
--   ATTACH '' AS warehouse (TYPE postgres, SECRET warehouse, READ_ONLY);
CREATE TABLE orders (id INTEGER, customer VARCHAR, total DECIMAL(10, 2));
INSERT INTO orders VALUES (1, 'Ada', 19.90), (2, 'Linus', 5.00), (3, 'Ada', 42.00);
