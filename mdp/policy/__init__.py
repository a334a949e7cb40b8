"""Migrations with an uncertain future: projected costs, the engines that compute them, and decisions made with them."""
