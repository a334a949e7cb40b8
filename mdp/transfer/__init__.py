"""How a migration is carried out: roles, mini-migrations, transfer phases."""
