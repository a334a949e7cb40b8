"""Certificates: how an answer is proven to somebody who trusts nobody."""
